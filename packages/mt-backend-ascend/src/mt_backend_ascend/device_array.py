"""Arrays in device memory."""

from __future__ import annotations

import math

import numpy

from mt_core.meta_array import contiguous_strides

from .allocator import Block

__all__ = ["DeviceArray"]


class DeviceArray:
    """A strided window of a `Block`.

    Attributes
    ----------
    shape, strides, offset
        In elements, bytes, and bytes from the start of the block.
    dtype
        NumPy's; of a half type that NumPy lacks, that of ml_dtypes.
    """

    __slots__ = ("block", "shape", "strides", "offset", "dtype")

    def __init__(
        self, block: Block, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: numpy.dtype
    ) -> None:
        self.block = block
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

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def address(self) -> int:
        return self.block.address + self.offset if self.block.address else 0

    @property
    def is_row_major(self) -> bool:
        """Whether it lies row by row, without gaps."""
        if self.strides == contiguous_strides(self.shape, self.itemsize) or 0 in self.shape:
            return True
        step = self.itemsize
        for n, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if n != 1:
                if stride != step:
                    return False
                step *= n
        return True

    def __repr__(self) -> str:
        return f"DeviceArray({self.dtype}, {self.shape}, strides={self.strides}, offset={self.offset})"
