"""Tensors of the device as inputs and results of programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from mt_core import Tensor
from mt_core.cell import cell_of
from mt_core.devices import backend_key
from mt_core.dtypes import dtype as core_dtype
from mt_core.keys import OTHER_INDEX, STRIDED
from mt_core.tensor import new_tensor

from ..arrays import Layout
from .array import Box, XlaArray, fresh, read, replace

__all__ = ["on_device", "overwrite", "result_of", "values_of"]


def on_device(value: Any) -> bool:
    """Whether a value is a tensor of the device."""
    return isinstance(value, Tensor) and value.device.type == "xla"


def values_of(given: Sequence[Any], donated: Sequence[int]) -> dict[int, jax.Array]:
    """The elements of those that are tensors of the device, by place.

    Those at the places that are `donated` are nobody else's among them.
    """
    found: dict[int, jax.Array] = {}
    holders: dict[int, int] = {}
    for place, tensor in enumerate(given):
        if on_device(tensor):
            if tensor.is_conj() or tensor.is_neg():
                tensor = tensor.resolve_conj().resolve_neg()
            found[place] = read(tensor._array)
            holders[id(found[place])] = holders.get(id(found[place]), 0) + 1
    for place in donated:
        if holders[id(found[place])] > 1:
            found[place] = jnp.copy(found[place])
    return found


def overwrite(tensor: Tensor, value: jax.Array) -> None:
    """Write a program's result into a tensor of the device."""
    if tensor.is_conj() or tensor.is_neg():
        tensor.copy_(_tensor(fresh(value, tensor._array.box.index), tensor.dtype))
        return
    replace(tensor._array, value)
    cell_of(tensor).version += 1


def result_of(value: jax.Array, layout: Layout, like: Tensor) -> Tensor:
    """A result as a tensor of the device, laid out so."""
    index = like.device.index or 0
    strides = layout.strides_in(value.dtype.itemsize)
    return _tensor(XlaArray(Box(value, index), tuple(like.shape), strides, 0, value.dtype), like.dtype)


def _tensor(array: XlaArray, dtype: core_dtype) -> Tensor:
    keys = backend_key("xla") | (OTHER_INDEX if array.box.index else 0)
    return new_tensor(array, dtype, keys if array.is_row_major else keys | STRIDED)
