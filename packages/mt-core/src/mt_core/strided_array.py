"""What backends' own arrays of strided device memory share."""

from __future__ import annotations

import math

import numpy

__all__ = ["StridedArray"]


class StridedArray:
    """A strided window of memory that a subclass knows; its constructor sets the attributes.

    Attributes
    ----------
    shape, strides, offset
        In elements, bytes, and bytes from the start of the memory.
    dtype
        NumPy's; of a half type that NumPy lacks, that of ml_dtypes.
    """

    __slots__ = ("shape", "strides", "offset", "dtype")

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: numpy.dtype

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dtype}, {self.shape}, strides={self.strides}, offset={self.offset})"
