"""The meta device: every operator's shape rule, and no data."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import ALL_DTYPES
from .errors import NoData
from .meta_array import MetaArray
from .plugins.protocols import CONTRACT

__all__ = ["MetaBackend", "backend"]


class MetaBackend:
    """A `Backend` whose arrays have a layout only; kernels are never needed."""

    contract = CONTRACT
    device_type = "meta"
    array_type = MetaArray
    native = frozenset(ALL_DTYPES)
    weak_numbers = True
    numpy_errors = False

    def device_count(self) -> int:
        return 1

    def diagnose(self) -> list[tuple[str, str]]:
        return [("meta", "built in: shapes without data")]

    def empty(
        self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None, index: int | None
    ) -> MetaArray:
        in_bytes = None if strides is None else tuple(s * dtype.itemsize for s in strides)
        return MetaArray(shape, dtype.numpy_dtype, in_bytes)

    def as_array(self, value: Any) -> MetaArray:
        return MetaArray(tuple(value.shape), value.dtype)

    def copy(self, target: MetaArray, source: MetaArray) -> None:
        """Nothing to move."""

    def cast(self, array: MetaArray, dtype: Any) -> MetaArray:
        return array if array.dtype == dtype.numpy_dtype else MetaArray(array.shape, dtype.numpy_dtype)

    def contiguous(self, array: MetaArray) -> MetaArray:
        return MetaArray(array.shape, array.dtype)

    def owner(self, array: MetaArray) -> MetaArray:
        return MetaArray((array.nbytes_owned,), np.dtype(np.uint8))

    def offset(self, owner: MetaArray, array: MetaArray) -> int:
        return array.offset

    def as_strided(
        self, owner: MetaArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: Any
    ) -> MetaArray:
        return MetaArray(shape, dtype.numpy_dtype, strides, offset, owner.nbytes_owned)

    def from_host(self, array: np.ndarray, dtype: Any, index: int | None) -> MetaArray:
        return MetaArray(array.shape, dtype.numpy_dtype)

    def to_host(self, array: MetaArray) -> np.ndarray:
        raise NoData("Cannot copy out of meta tensor; no data!")

    def address(self, array: MetaArray) -> int:
        return 0

    def index_of(self, array: MetaArray) -> None:
        return None

    def load(self, family: str) -> None:
        """The meta device has no kernels."""


backend = MetaBackend()
