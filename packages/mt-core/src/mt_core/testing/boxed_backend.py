"""A backend whose buffers never change: its array is a mutable box around an immutable buffer.

That is how array libraries without writable memory (XLA's) take part: reading slices the buffer, writing makes a new
buffer and puts it into the box, and arrays that share a box see it. NumPy arrays that refuse to be written play the
immutable buffers.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ..devices import backend_key
from ..dispatch.lookup import backend_for
from ..keys import CPU
from ..meta_array import contiguous_strides
from ..plugins.protocols import CONTRACT
from .borrowed_kernels import borrow_kernels

__all__ = ["BoxedArray", "BoxedBackend"]

_BYTE = np.dtype(np.uint8)
_numbers = itertools.count(1)


class Box:
    """The one thing that changes: which buffer of bytes it holds."""

    __slots__ = ("buffer", "number")

    def __init__(self, buffer: np.ndarray) -> None:
        buffer.flags.writeable = False
        self.buffer = buffer
        self.number = next(_numbers)

    def replace(self, buffer: np.ndarray) -> None:
        buffer.flags.writeable = False
        self.buffer = buffer


class BoxedArray:
    """A window of a box: strides and offset in bytes."""

    __slots__ = ("box", "shape", "strides", "offset", "dtype")

    def __init__(
        self, box: Box, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: np.dtype
    ) -> None:
        self.box = box
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.dtype = dtype

    itemsize = property(lambda self: self.dtype.itemsize)
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))


def read(array: Any) -> Any:
    """The elements as NumPy's array, which refuses to be written; what is NumPy's already as it is."""
    if not isinstance(array, BoxedArray):
        return array
    return _window(array, array.box.buffer)


def _window(array: BoxedArray, buffer: np.ndarray) -> np.ndarray:
    if 0 in array.shape:
        return np.empty(array.shape, array.dtype)
    return np.ndarray(array.shape, array.dtype, buffer, array.offset, array.strides)


def fresh(elements: Any) -> BoxedArray:
    """A new array, row by row, of NumPy's elements."""
    host = np.asarray(elements)
    memory = np.array(host, order="C").reshape(-1).view(np.uint8)
    return BoxedArray(Box(memory), host.shape, contiguous_strides(host.shape, host.itemsize), 0, host.dtype)


def write(array: BoxedArray, elements: np.ndarray) -> None:
    """Give the window other elements: in a new buffer, which is the old one in all else."""
    buffer = array.box.buffer.copy()
    if array.size:
        backend_for(CPU).copy(_window(array, buffer), elements)
    array.box.replace(buffer)


class BoxedBackend:
    """Follows `mt_core.plugins.protocols.Backend`, with none of what it leaves open."""

    contract = CONTRACT
    array_type = BoxedArray

    def __init__(self, device_type: str = "boxed") -> None:
        self.device_type = device_type

    def device_count(self) -> int:
        return 1

    def diagnose(self) -> list[tuple[str, str]]:
        return [(self.device_type, "immutable buffers over NumPy")]

    def empty(
        self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None, index: int | None
    ) -> BoxedArray:
        size, shape = dtype.itemsize, tuple(shape)
        in_bytes = contiguous_strides(shape, size) if strides is None else tuple(s * size for s in strides)
        extent = 0 if 0 in shape else size + sum((n - 1) * s for n, s in zip(shape, in_bytes, strict=True))
        return BoxedArray(Box(np.zeros(extent, np.uint8)), shape, in_bytes, 0, dtype.numpy_dtype)

    def as_array(self, value: Any) -> BoxedArray:
        return value if isinstance(value, BoxedArray) else fresh(value)

    def copy(self, target: BoxedArray, source: BoxedArray) -> None:
        write(target, read(source))

    def cast(self, array: BoxedArray, dtype: Any) -> BoxedArray:
        return array if array.dtype == dtype.numpy_dtype else fresh(backend_for(CPU).cast(read(array), dtype))

    def contiguous(self, array: BoxedArray) -> BoxedArray:
        return array if read(array).flags.c_contiguous else fresh(read(array))

    def owner(self, array: BoxedArray) -> BoxedArray:
        return BoxedArray(array.box, array.box.buffer.shape, (1,), 0, _BYTE)

    def offset(self, owner: BoxedArray, array: BoxedArray) -> int:
        return array.offset - owner.offset

    def as_strided(
        self, owner: BoxedArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: Any
    ) -> BoxedArray:
        return BoxedArray(owner.box, tuple(shape), tuple(strides), owner.offset + offset, dtype.numpy_dtype)

    def from_host(self, array: np.ndarray, dtype: Any, index: int | None) -> BoxedArray:
        return fresh(backend_for(CPU).cast(array, dtype))

    def to_host(self, array: BoxedArray) -> np.ndarray:
        return np.array(read(array), order="C")

    def address(self, array: BoxedArray) -> int:
        return (array.box.number << 40) + array.offset

    def index_of(self, array: BoxedArray) -> int:
        return 0

    def load(self, family: str) -> None:
        borrow_kernels(backend_key(self.device_type), family, read, fresh, write)
