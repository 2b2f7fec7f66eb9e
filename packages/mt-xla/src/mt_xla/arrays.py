"""Tensors of the CPU as arrays, without a copy where their memory allows it, and results back."""

from __future__ import annotations

import ctypes
from typing import Any

import jax
import numpy as np

from mt_core import Tensor
from mt_core.tensor import from_array

__all__ = ["Layout", "array_of", "tensor_of"]

#: Below this many bytes a copy costs less than the wrapping of foreign memory.
_SMALL = 1 << 14


def array_of(tensor: Any) -> np.ndarray:
    """The elements of a tensor of the CPU, or a number, as NumPy's array, which may share memory with it."""
    if not isinstance(tensor, Tensor):
        return np.asarray(tensor)
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    return tensor.detach()._array


class Layout:
    """How a result lies in memory: as the program would have had it, run as it is.

    XLA gives elements row by row. So dimensions are put in the order of the strides within the graph (`put`), and the
    result is seen in the order of the program (`seen`).
    """

    __slots__ = ("_order", "_strides", "is_plain")

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self._order = tuple(sorted(range(len(shape)), key=lambda d: (-strides[d], d)))
        self._strides = strides if _is_dense(shape, strides) else _dense(shape, strides, self._order)
        self.is_plain = self._strides == _dense(shape, (1,) * len(shape), tuple(range(len(shape))))

    def put(self, value: Any) -> Any:
        """The value, in the graph, as it is to lie in memory."""
        if self.is_plain:
            return value
        for dim, stride in enumerate(self._strides):
            if stride == 0 and value.shape[dim] > 1:
                value = value[(slice(None),) * dim + (slice(0, 1),)]
        return value.transpose(self._order)

    def strides_in(self, itemsize: int) -> tuple[int, ...]:
        """Strides in bytes."""
        return tuple([stride * itemsize for stride in self._strides])

    def seen(self, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Elements that lie row by row, in the shape and strides of the result."""
        if self.is_plain:
            return array
        return np.lib.stride_tricks.as_strided(array, shape, self.strides_in(array.itemsize))


def _is_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether elements fill their memory, those that are seen several times counted once."""
    dims = sorted((s, n) for n, s in zip(shape, strides, strict=True) if n != 1 and s != 0)
    expected = 1
    for stride, size in dims:
        if stride != expected:
            return False
        expected *= size
    return True


def _dense(shape: tuple[int, ...], strides: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of dimensions in this order without gaps."""
    found = [0] * len(shape)
    step = 1
    for dim in reversed(order):
        if strides[dim] != 0:
            found[dim] = step
            step *= max(shape[dim], 1)
    return tuple(found)


def tensor_of(value: jax.Array, layout: Layout, shape: tuple[int, ...]) -> Tensor:
    """A result as a tensor, which owns it and may be written to: nobody else has it."""
    if value.nbytes <= _SMALL or [device.platform for device in value.devices()] != ["cpu"]:
        array = np.array(value)
    else:
        memory = (ctypes.c_char * value.nbytes).from_address(value.unsafe_buffer_pointer())
        memory.owner = value  # type: ignore[attr-defined]  # lives as long as the memory is seen
        array = np.frombuffer(memory, dtype=value.dtype).reshape(value.shape)
    return from_array(layout.seen(array, shape))
