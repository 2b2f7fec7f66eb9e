"""Shapes and strides as kernels take them: dimensions collapsed, innermost first, with divisors as factor and shift."""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Sequence

__all__ = [
    "MAX_DIMS", "Dims", "broadcast_shape", "broadcast_strides", "collapse", "divided", "divisor", "packed", "row_major",
]  # fmt: skip

#: As in ``cuda/common.cu``.
MAX_DIMS = 12
#: Elements that a layout numbers, at most.
MOST = (1 << 31) - 1
#: Sizes and, for each operand, strides in elements; innermost first.
Dims = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]


def divisor(value: int) -> tuple[int, int]:
    """Factor and shift with which n // value == (mulhi(n, factor) + n) >> shift for every n below 2**31."""
    shift = (value - 1).bit_length()
    return ((1 << 32) * ((1 << shift) - value)) // value + 1, shift


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements of a row-major array."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def broadcast_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The common shape; ValueError where there is none."""
    ndim = max(map(len, shapes))
    result = [1] * ndim
    for shape in shapes:
        for at, size in enumerate(shape, ndim - len(shape)):
            if size != 1 and result[at] not in (1, size):
                raise ValueError(f"shapes {' and '.join(str(tuple(s)) for s in shapes)} do not broadcast")
            result[at] = size if size != 1 else result[at]
    return tuple(result)


def broadcast_strides(shape: Sequence[int], strides: Sequence[int], to: Sequence[int]) -> tuple[int, ...]:
    """Strides with which an array of `shape` is read as one of the shape `to`."""
    missing = len(to) - len(shape)
    own = (0 if size == 1 else stride for size, stride in zip(shape, strides, strict=True))
    return (0,) * missing + tuple(own)


def collapse(shape: Sequence[int], *strides: Sequence[int], reorder: bool = True) -> Dims:
    """Merge dimensions that lie one after another in every operand; those of size 1 vanish.

    reorder
        Sort dimensions by the first operand's strides before, which is free where the order of elements is.
    """
    dims = [d for d in reversed(range(len(shape))) if shape[d] != 1]
    if reorder:
        dims.sort(key=lambda d: abs(strides[0][d]))
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for d in dims:
        if sizes and all(own[-1] * sizes[-1] == given[d] for own, given in zip(steps, strides, strict=True)):
            sizes[-1] *= shape[d]
            continue
        sizes.append(shape[d])
        for own, given in zip(steps, strides, strict=True):
            own.append(given[d])
    return tuple(sizes), tuple(map(tuple, steps))


@functools.lru_cache(4096)
def packed(dims: Dims) -> bytes:
    """The struct ``Layout`` of ``cuda/common.cu``.

    Raises
    ------
    ValueError
        More dimensions than a layout holds, or 2**31 elements or more.
    """
    sizes, strides = dims
    if len(sizes) > MAX_DIMS:
        raise ValueError(f"{len(sizes)} dimensions that do not collapse; CUDA kernels take {MAX_DIMS}")
    count = 1
    for size in sizes:
        count *= size
    if count > MOST:
        raise ValueError(f"{count} elements in strided arrays; CUDA kernels take less than 2**31")
    rest = MAX_DIMS - len(sizes)
    parts = [struct.pack("q", len(sizes))]
    parts += [struct.pack("IIII", size, *divisor(max(size, 1)), 0) for size in sizes]
    parts += [bytes(16 * rest)]
    parts += [struct.pack(f"{MAX_DIMS}q", *own, *(0,) * rest) for own in strides]
    return b"".join(parts)


def divided(dims: Dims, most: int = MOST) -> list[tuple[Dims, int, tuple[int, ...]]]:
    """The parts of an array that `packed` takes each: dimensions, number of elements, where each operand's begin.

    An array of more dimensions or elements than a layout holds is cut along its outermost dimension.
    """
    sizes, strides = dims
    count = math.prod(sizes)
    if len(sizes) <= MAX_DIMS and count <= most:
        return [(dims, count, (0,) * len(strides))]
    last = sizes[-1]
    rows = 1 if len(sizes) > MAX_DIMS else max(1, min(last, most // (count // last)))
    parts = []
    for start in range(0, last, rows):
        together = min(rows, last - start)
        kept = slice(None) if together > 1 else slice(-1)
        part = (*sizes[:-1], together)[kept], tuple(own[kept] for own in strides)
        for inner, number, begins in divided(part, most):
            at = tuple(begin + start * own[-1] for begin, own in zip(begins, strides, strict=True))
            parts.append((inner, number, at))
    return parts
