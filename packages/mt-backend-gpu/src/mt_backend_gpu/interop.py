"""Memory shared with other libraries by DLPack."""

from __future__ import annotations

from typing import Any

import cupy

from mt_core.dtypes import dtype, from_numpy_dtype

__all__ = ["array_of", "capsule"]

_CUDA = 2


class _Producer:
    """Hands one capsule to `cupy.from_dlpack`."""

    def __init__(self, capsule: Any, index: int) -> None:
        self._capsule, self._index = capsule, index

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, self._index


def capsule(array: Any, d: dtype, max_version: tuple[int, int] | None) -> Any:
    """A capsule on an array's memory; the caller orders the streams."""
    versions = {} if max_version is None else {"max_version": max_version}
    return array.__dlpack__(stream=-1, **versions)


def array_of(capsule: Any, index: int) -> tuple[Any, dtype]:
    """The array on a capsule's memory, and the dtype of its elements."""
    array = cupy.from_dlpack(_Producer(capsule, index))
    return array, from_numpy_dtype(array.dtype)
