"""Backend arrays over MindSpore's storage."""

from __future__ import annotations

import math
from typing import Any

import numpy

__all__ = ["MindSporeArray"]


class MindSporeArray:
    """A strided block of elements of a MindSpore storage.

    Attributes
    ----------
    base
        The tensor that the storage was allocated as: row-major, offset 0. All arrays on the storage refer to it.
    tensor
        MindSpore's view of the elements, itself `base` where the array is all of it. None of a flat byte array until
        it is read (`memory.bytes_of`).
    shape, strides, offset
        In elements, bytes, and bytes from the start of the storage.
    dtype
        NumPy's; of a half type that NumPy lacks, that of ml_dtypes.
    """

    __slots__ = ("tensor", "base", "shape", "strides", "offset", "dtype")

    def __init__(
        self, tensor: Any, base: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: numpy.dtype
    ) -> None:
        self.tensor = tensor
        self.base = base
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.dtype = dtype

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __repr__(self) -> str:
        return f"MindSporeArray({self.dtype}, {self.shape}, strides={self.strides}, offset={self.offset})"
