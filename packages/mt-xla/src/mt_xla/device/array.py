"""Arrays of the device: windows of mutable boxes around jax's arrays, which do not change."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mt_core.meta_array import contiguous_strides
from mt_core.strided_array import StridedArray

from ..calls import Value, convert
from .sharding import device_of, moved, together
from .windows import Window, read_window, write_window

__all__ = ["Box", "XlaArray", "fresh", "put", "read", "replace", "write"]

_numbers = itertools.count(1)
_row_major = functools.lru_cache(4096)(contiguous_strides)


class Box:
    """Memory of a device: the one thing that changes is which buffer it holds.

    A buffer is in one box only, so that a program may overwrite it (be donated it).

    Attributes
    ----------
    index
        Of the device.
    number
        Stands for an address.
    """

    __slots__ = ("_buffer", "_form", "index", "number")

    def __init__(self, buffer: jax.Array | None, index: int, form: tuple[int, np.dtype] | None = None) -> None:
        self._buffer, self._form, self.index = buffer, form, index
        self.number = next(_numbers)

    @property
    def buffer(self) -> jax.Array:
        """What it holds: zeros where nothing was written yet."""
        if self._buffer is None:
            count, dtype = self._form  # type: ignore[misc]
            with jax.enable_x64(True):
                self._buffer = jnp.zeros(count, dtype, device=device_of(self.index))
        return self._buffer

    @buffer.setter
    def buffer(self, buffer: jax.Array) -> None:
        self._buffer = buffer

    @property
    def nbytes(self) -> int:
        """How many bytes it has."""
        if self._buffer is None:
            count, dtype = self._form  # type: ignore[misc]
            return count * dtype.itemsize
        return self._buffer.nbytes

    @property
    def sharding(self) -> Any:
        """How it is spread over several devices; None where it lies on one."""
        found = None if self._buffer is None else self._buffer.sharding
        return found if found is not None and len(found.device_set) > 1 else None

    def is_all(self, shape: tuple[int, ...], dtype: np.dtype) -> bool:
        """Whether elements of that shape and dtype, row by row from the beginning, are what it holds."""
        if self._buffer is None:
            return False
        return self._buffer.shape == shape and self._buffer.dtype == dtype


class XlaArray(StridedArray):
    """A window of a box."""

    __slots__ = ("box",)

    def __init__(
        self, box: Box, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: np.dtype
    ) -> None:
        self.box, self.shape, self.strides, self.offset, self.dtype = box, shape, strides, offset, dtype

    @property
    def is_row_major(self) -> bool:
        """Whether elements lie row by row."""
        if self.strides == _row_major(self.shape, self.dtype.itemsize):
            return True
        step = self.dtype.itemsize
        for n, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if n == 0:
                return True
            if n != 1:
                if stride != step:
                    return 0 in self.shape
                step *= n
        return True

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its box, row by row."""
        return self.offset == 0 and self.nbytes == self.box.nbytes and self.is_row_major

    @property
    def window(self) -> Window:
        return Window(self.shape, self.strides, self.offset, self.dtype)


@functools.lru_cache(4096)
def _reader(window: Window) -> Any:
    return jax.jit(lambda buffer: read_window(buffer, window))


@functools.lru_cache(4096)
def _writer(window: Window) -> Any:
    return jax.jit(lambda buffer, value: write_window(buffer, window, value))


@functools.lru_cache(4096)
def _converter(shape: tuple[int, ...], dtype: np.dtype) -> Any:
    return jax.jit(lambda value: jnp.broadcast_to(convert(value, dtype), shape))


def read(array: XlaArray) -> jax.Array:
    """The elements as jax's array, which nobody may be donated."""
    box = array.box
    if array.offset == 0 and array.strides == _row_major(array.shape, array.dtype.itemsize):
        if box.is_all(array.shape, array.dtype):
            return box.buffer
    with jax.enable_x64(True):
        return _reader(array.window)(box.buffer)


def write(array: XlaArray, value: Value) -> None:
    """Give a window the elements of jax's array, broadcast and converted, or of NumPy's."""
    if 0 in array.shape:
        return
    box = array.box
    with jax.enable_x64(True):
        if not array.is_whole:
            buffer, value = together([box.buffer, value], box.index)
            box.buffer = moved(_writer(array.window)(buffer, value), buffer.sharding)
            return
        place = box.sharding
        (value,) = together([value], box.index)
        made = _converter(array.shape, array.dtype)(value)
        if made is value:
            made = jnp.copy(made)
        # What is overwritten as a whole lies where its elements come from, unless it was spread over devices itself.
        box.buffer = made if place is None else moved(made, place)


def replace(array: XlaArray, value: jax.Array) -> None:
    """Give a window elements that nobody else has: where it is all of its box, they are its buffer then."""
    if array.is_whole and value.dtype == array.dtype and value.shape == array.shape:
        place = array.box.sharding
        array.box.buffer = value if place is None else moved(value, place)
    else:
        write(array, value)


def fresh(value: jax.Array, index: int) -> XlaArray:
    """The array of elements that nobody else has."""
    shape = tuple(value.shape)
    dtype = np.dtype(value.dtype)
    return XlaArray(Box(value, index), shape, _row_major(shape, dtype.itemsize), 0, dtype)


def put(host: np.ndarray, index: int) -> jax.Array:
    """NumPy's elements on a device, copied."""
    with jax.enable_x64(True):
        return jax.device_put(np.ascontiguousarray(host).reshape(host.shape), device_of(index), may_alias=False)
