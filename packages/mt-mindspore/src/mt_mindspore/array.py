"""Backend arrays over MindSpore's storage."""

from __future__ import annotations

from typing import Any

import numpy

from mt_core.strided_array import StridedArray

__all__ = ["MindSporeArray"]


class MindSporeArray(StridedArray):
    """A strided block of elements of a MindSpore storage.

    Attributes
    ----------
    base
        The tensor that the storage was allocated as: row-major, offset 0. All arrays on the storage refer to it.
    tensor
        MindSpore's view of the elements, itself `base` where the array is all of it. None of a flat byte array until
        it is read (`memory.bytes_of`).
    """

    __slots__ = ("tensor", "base")

    def __init__(
        self, tensor: Any, base: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: numpy.dtype
    ) -> None:
        self.tensor = tensor
        self.base = base
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.dtype = dtype
