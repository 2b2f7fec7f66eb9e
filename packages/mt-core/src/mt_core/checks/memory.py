"""Sizes that no memory has, in PyTorch's words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..errors import NoMemory

__all__ = ["LARGEST", "refuse_size", "refuse_vast", "unmakeable"]

#: The largest number of bytes or elements that PyTorch counts.
LARGEST = (1 << 63) - 1
#: Bytes that no process can address: what asks for so many fails before anything is computed.
_ADDRESSABLE = 1 << 48


#: As many dimensions as NumPy's arrays have.
_MOST_DIMENSIONS = 64


def unmakeable(shape: Sequence[int], error: ValueError, itemsize: int, is_view: bool = False) -> Exception:
    """The error for a shape that no NumPy array can have: too many dimensions, or more bytes than an int64 counts.

    PyTorch has views of so many bytes where they lie on few; it refuses more elements than an int64 counts.
    """
    if len(shape) > _MOST_DIMENSIONS:
        return RuntimeError(f"a tensor of {len(shape)} dimensions: {error}")
    if is_view and math.prod(shape) > LARGEST:
        return RuntimeError("numel: integer multiplication overflow")
    refuse_size(shape, itemsize)
    if math.prod(shape) >= 1 << 58:
        return RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    return RuntimeError(f"a tensor of sizes {list(shape)}: {error}")


def refuse_vast(specs: Any) -> None:
    """Refuse results that no process can hold: kernels may work for ever on what leads up to one.

    Raises
    ------
    NoMemory
        In PyTorch's words.
    """
    for spec in specs if isinstance(specs, (list, tuple)) else (specs,):
        shape = getattr(spec, "shape", None)
        if shape is not None and math.prod(shape) * spec.dtype.itemsize >= _ADDRESSABLE:
            raise NoMemory(math.prod(shape) * spec.dtype.itemsize)


def refuse_size(
    shape: Sequence[int], itemsize: int, strides: Sequence[int] | None = None, counted_first: bool = False
) -> None:
    """Refuse a tensor whose bytes or strides are more than an int64 counts; strides in elements, row-major without.

    With `counted_first`, too many elements are refused before too many bytes, as where a tensor is resized.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    sizes = list(shape)
    if strides is not None:
        reach = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if 0 not in sizes else 0
        if reach * itemsize > LARGEST:
            raise RuntimeError(f"Storage size calculation overflowed with sizes={sizes} and strides={list(strides)}")
        return
    count = math.prod(sizes)
    if counted_first and count > LARGEST:
        raise RuntimeError("numel: integer multiplication overflow")
    if count * itemsize > LARGEST:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={sizes}")
    if math.prod(max(n, 1) for n in sizes[1:]) > LARGEST:
        raise RuntimeError("Stride calculation overflowed")
