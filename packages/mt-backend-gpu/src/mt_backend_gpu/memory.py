"""The memory behind CuPy's arrays."""

from __future__ import annotations

from typing import Any

import cupy
import numpy

__all__ = ["address_of", "carrier", "flat_bytes", "on_memory"]

_BYTE = numpy.dtype(numpy.uint8)
#: Bytes of an element -> what carries its bits.
_CARRIERS = {1: _BYTE, 2: numpy.dtype(numpy.uint16), 4: numpy.dtype(numpy.uint32), 8: numpy.dtype(numpy.uint64)}


def address_of(array: Any) -> int:
    """Address of the first element."""
    address: int = array.data.ptr
    return address


def on_memory(memory: Any, shape: tuple[int, ...], strides: tuple[int, ...], element_type: numpy.dtype) -> Any:
    """The array of a layout, in bytes, that begins at a pointer of CuPy's, which it keeps alive."""
    return cupy.ndarray(shape, element_type, memory, strides)


def flat_bytes(array: Any) -> Any:
    """All bytes from an array's lowest to its highest address, as one byte array."""
    if array.size == 0:
        return on_memory(array.data, (0,), (1,), _BYTE)
    if array.flags.c_contiguous:
        return on_memory(array.data, (array.nbytes,), (1,), _BYTE)
    lowest = sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True) if s < 0)
    extent = array.itemsize + sum((n - 1) * abs(s) for n, s in zip(array.shape, array.strides, strict=True))
    return on_memory(array.data + lowest, (extent,), (1,), _BYTE)


def carrier(array: Any) -> Any:
    """The same memory as unsigned integers of the elements' width, for what only moves bits."""
    return array.view(_CARRIERS[array.itemsize])
