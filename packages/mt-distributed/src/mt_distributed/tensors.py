"""Tensors as the arrays that communicators work on, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mt_core.cell import cell_of
from mt_core.host import host_array
from mt_core.interop import from_numpy
from mt_core.keys import CONJUGATE, NEGATIVE
from mt_core.state import settle

__all__ = ["array_of", "flat_of", "written"]


def array_of(tensor: Any) -> np.ndarray:
    """The elements of a tensor in a row, which nobody else writes to meanwhile if they are its own memory."""
    return np.ascontiguousarray(host_array(tensor.detach()))


def written(tensor: Any) -> tuple[np.ndarray, Callable[[], None] | None]:
    """An array with the elements of a tensor that an operation writes to, and what brings them back to the tensor.

    The array is the tensor's own memory where that is possible; then there is nothing to bring back.
    """
    settle()
    cell_of(tensor).version += 1
    array = tensor._array
    if type(array) is np.ndarray and not tensor._keys & (CONJUGATE | NEGATIVE):
        if array.flags.c_contiguous:
            return array, None
        copy = np.ascontiguousarray(array)

        def back() -> None:
            array[...] = copy

        return copy, back
    copy = array_of(tensor).copy()
    return copy, lambda: _write(tensor, copy)


def _write(tensor: Any, array: np.ndarray) -> None:
    tensor.detach().copy_(from_numpy(array))


def flat_of(tensors: Sequence[Any]) -> tuple[np.ndarray, Callable[[], None]]:
    """One array for tensors of one dtype that an operation writes to, and what brings its parts back to them."""
    arrays = [written(tensor) for tensor in tensors]
    flat = np.concatenate([array.reshape(-1) for array, _ in arrays])

    def back() -> None:
        at = 0
        for array, inner in arrays:
            array.reshape(-1)[...] = flat[at : at + array.size]
            at += array.size
            if inner is not None:
                inner()

    return flat, back
