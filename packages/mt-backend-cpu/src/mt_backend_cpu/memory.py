"""The memory block behind an array."""

from __future__ import annotations

import numpy as np

__all__ = ["address_of", "flat_bytes"]


def address_of(array: np.ndarray) -> int:
    """Address of the first element."""
    return array.__array_interface__["data"][0]


def flat_bytes(array: np.ndarray) -> np.ndarray:
    """All bytes from an array's lowest to its highest address, as one writable-where-it-is byte array."""
    if array.size == 0:
        return np.empty(0, np.uint8)
    if array.flags.c_contiguous:
        return array.reshape(-1).view(np.uint8)
    lowest = sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True) if s < 0)
    extent = array.itemsize + sum((n - 1) * abs(s) for n, s in zip(array.shape, array.strides, strict=True))
    corner = array[tuple(slice(-1, None) if s < 0 else slice(0, 1) for s in array.strides)]
    assert address_of(corner) == address_of(array) + lowest
    element = corner.reshape(-1)[:1].view(np.uint8)
    return np.lib.stride_tricks.as_strided(element, (extent,), (1,))
