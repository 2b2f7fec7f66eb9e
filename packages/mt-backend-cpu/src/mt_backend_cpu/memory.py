"""The memory block behind an array."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["address_of", "flat_bytes", "fresh", "memory_counts", "memory_of", "nothing_at", "release_memory"]


class _Place:
    """What NumPy makes an array from: an address and a layout, and the owner of the memory around it."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: np.ndarray, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def address_of(array: np.ndarray) -> int:
    """Address of the first element."""
    return array.__array_interface__["data"][0]


def memory_of(array: np.ndarray) -> Any:
    """The object that owns an array's memory: NumPy's views all refer to the first of them."""
    return array if array.base is None else array.base


def nothing_at(
    owner: np.ndarray, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int
) -> np.ndarray:
    """An array without elements, `offset` bytes behind the start of `owner`, wherever that is; strides in bytes.

    PyTorch's views of nothing begin anywhere, past the end of their memory too. NumPy would hold offset and strides
    against a buffer although there is nothing to reach.
    """
    interface = {
        "version": 3,
        "typestr": f"|V{itemsize}",
        "data": (address_of(owner) + offset, False),
        "shape": tuple(shape),
        "strides": tuple(strides),
    }
    return np.asarray(_Place(owner, interface))


def flat_bytes(array: np.ndarray) -> np.ndarray:
    """All bytes from an array's lowest to its highest address, as one writable-where-it-is byte array."""
    if array.size == 0:
        return nothing_at(array, 0, (0,), (1,), 1).view(np.uint8)
    if array.flags.c_contiguous:
        return array.reshape(-1).view(np.uint8)
    lowest = sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True) if s < 0)
    extent = array.itemsize + sum((n - 1) * abs(s) for n, s in zip(array.shape, array.strides, strict=True))
    corner = array[tuple(slice(-1, None) if s < 0 else slice(0, 1) for s in array.strides)]
    assert address_of(corner) == address_of(array) + lowest
    element = corner.reshape(-1)[:1].view(np.uint8)
    return np.lib.stride_tricks.as_strided(element, (extent,), (1,))


class _Fresh:
    """What makes new arrays: NumPy's functions, and the native library's once it is there."""

    def __init__(self) -> None:
        self.empty: Any = np.empty
        self.zeros: Any = np.zeros
        self.library: Any = None

    def use(self, library: Any) -> None:
        """Make arrays by the native library from now on."""
        self.empty, self.zeros, self.library = library.new_empty, library.new_zeros, library


fresh = _Fresh()


def memory_counts() -> dict[str, int]:
    """Bytes of the large arrays of tensors.

    Returns
    -------
    dict
        ``in_use``, what arrays of 256 KiB or more take; ``kept``, what such arrays left and new ones will take; and
        ``most_in_use``. All are 0 while the native library is not there, and nothing is kept.
    """
    return fresh.library.memory_counts() if fresh.library is not None else {"in_use": 0, "kept": 0, "most_in_use": 0}


def release_memory() -> None:
    """Give the memory that ended arrays left, and that is kept for new ones, back to the system."""
    if fresh.library is not None:
        fresh.library.release_memory()
