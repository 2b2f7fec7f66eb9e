"""Strided windows of a flat buffer: elements read from it, and a buffer in which they are others.

A window is a shape, strides and an offset in elements of its dtype; none is negative. Both functions are traced: what
they give is compiled once for each form of window.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..calls import Value, convert

__all__ = ["Window", "read_window", "write_window"]

Ints = tuple[int, ...]


class Window(NamedTuple):
    """Where elements lie in a buffer: strides and offset in bytes."""

    shape: Ints
    strides: Ints
    offset: int
    dtype: np.dtype


def read_window(buffer: Value, window: Window) -> Value:
    """The elements of a window of a buffer of any shape and dtype, which lies row by row."""
    if 0 in window.shape:
        return jnp.zeros(window.shape, window.dtype)
    flat = _retyped(buffer.reshape(-1), window.dtype)
    shape, strides, offset = _in_elements(window)
    blocks = _Blocks.of(shape, strides, offset)
    if blocks is None:
        return flat[_places(shape, strides, offset)]
    found = blocks.of_buffer(flat)[blocks.index]
    return jnp.broadcast_to(found.transpose(blocks.back).reshape(blocks.single), shape)


def write_window(buffer: Value, window: Window, value: Value) -> Value:
    """A buffer of the same shape and dtype, in which the elements of a window are those of a value, broadcast.

    Of elements that the window reaches several times, the value has one.
    """
    if 0 in window.shape:
        return buffer
    shape, strides, offset = _in_elements(window)
    value = jnp.broadcast_to(convert(value, window.dtype), shape)
    for dim, stride in enumerate(strides):
        if stride == 0 and shape[dim] > 1:
            value = lax.slice_in_dim(value, 0, 1, axis=dim)
    shape = tuple(value.shape)
    flat = _retyped(buffer.reshape(-1), window.dtype)
    if flat.size == value.size == math.prod(shape) and _is_row_major(shape, strides):
        flat = value.reshape(-1)
    else:
        blocks = _Blocks.of(shape, strides, offset)
        if blocks is None:
            flat = flat.at[_places(shape, strides, offset)].set(value)
        else:
            ordered = value.reshape(blocks.kept).transpose(blocks.order)
            flat = blocks.to_buffer(flat, blocks.of_buffer(flat).at[blocks.index].set(ordered))
    count = math.prod(buffer.shape)
    made = _retyped(flat, buffer.dtype)
    if made.size < count:  # what follows the last whole element of the window's dtype
        made = jnp.concatenate([made, buffer.reshape(-1)[made.size :]])
    return made.reshape(buffer.shape)


def _is_row_major(shape: Ints, strides: Ints) -> bool:
    step = 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1:
            if stride != step:
                return False
            step *= n
    return True


def _in_elements(window: Window) -> tuple[Ints, Ints, int]:
    size = window.dtype.itemsize
    # Strides of dimensions of size 1 say nothing.
    strides = tuple([0 if n == 1 else s for n, s in zip(window.shape, window.strides, strict=True)])
    if window.offset % size or any(s % size for s in strides):
        raise NotImplementedError(f"device 'xla' has no elements of {window.dtype} that are not aligned to their size")
    return window.shape, tuple([s // size for s in strides]), window.offset // size


def _places(shape: Ints, strides: Ints, offset: int) -> Value:
    places = jnp.full((), offset)
    for n, stride in zip(shape, strides, strict=True):
        places = places[..., None] + jnp.arange(n) * stride
    return places


class _Blocks:
    """A window as a part of a buffer that is folded into dimensions: slices, transposes, steps.

    Attributes
    ----------
    index
        The part, of the folded buffer: dimensions by falling strides.
    order, back
        From the window's dimensions, those that are seen once left out, to falling strides, and back.
    kept, single
        The window's shape without those, and with size 1 in their place.
    """

    def __init__(self, shape: Ints, strides: Ints, offset: int, dims: list[int]) -> None:
        self._offset = offset
        extents = [shape[dims[0]], *(strides[a] // strides[b] for a, b in itertools.pairwise(dims))]
        self._folded = (*extents, strides[dims[-1]])
        self._count = math.prod(self._folded)
        self.index = (*[slice(0, shape[d]) for d in dims], 0)
        rising = sorted(dims)
        self.order = tuple([rising.index(d) for d in dims])
        self.back = tuple([dims.index(d) for d in rising])
        self.kept = tuple([shape[d] for d in rising])
        self.single = tuple([n if d in rising else 1 for d, n in enumerate(shape)])

    @classmethod
    def of(cls, shape: Ints, strides: Ints, offset: int) -> _Blocks | None:
        """The window so, where its strides are multiples of one another."""
        dims = sorted([d for d, s in enumerate(strides) if s], key=lambda d: -strides[d])
        if not dims:
            return None
        for a, b in itertools.pairwise(dims):
            if strides[a] % strides[b] or strides[a] < strides[b] * shape[b]:
                return None
        return cls(shape, strides, offset, dims)

    def of_buffer(self, flat: Value) -> Value:
        """The folded part of a buffer; what lies past its end is zero."""
        part = flat[self._offset : self._offset + self._count]
        return jnp.pad(part, (0, self._count - part.size)).reshape(self._folded)

    def to_buffer(self, flat: Value, folded: Value) -> Value:
        """The buffer with another folded part."""
        count = min(self._count, flat.size - self._offset)
        parts = [flat[: self._offset], folded.reshape(-1)[:count], flat[self._offset + count :]]
        return jnp.concatenate([part for part in parts if part.size])


def _retyped(flat: Value, dtype: Any) -> Value:
    """The same bytes as elements of another dtype; bytes after the last whole element are left out."""
    if flat.dtype == dtype:
        return flat
    return _of_bytes(_to_bytes(flat), np.dtype(dtype))


def _to_bytes(flat: Value) -> Value:
    if flat.dtype == jnp.bool_:
        return flat.astype(jnp.uint8)
    if jnp.issubdtype(flat.dtype, jnp.complexfloating):
        flat = jnp.stack([flat.real, flat.imag], -1).reshape(-1)
    return lax.bitcast_convert_type(flat, jnp.uint8).reshape(-1)


def _of_bytes(flat: Value, dtype: np.dtype) -> Value:
    if dtype == np.bool_:
        return flat != 0
    if dtype.kind == "c":
        part = np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
        pairs = _of_bytes(flat[: flat.size // dtype.itemsize * dtype.itemsize], part).reshape(-1, 2)
        return lax.complex(pairs[:, 0], pairs[:, 1])
    count = flat.size // dtype.itemsize
    shape = (count,) if dtype.itemsize == 1 else (count, dtype.itemsize)
    return lax.bitcast_convert_type(flat[: count * dtype.itemsize].reshape(shape), dtype)
