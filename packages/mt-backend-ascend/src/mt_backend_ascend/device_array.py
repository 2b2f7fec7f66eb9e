"""Arrays in device memory."""

from __future__ import annotations

import numpy

from mt_core.meta_array import contiguous_strides
from mt_core.strided_array import StridedArray

from .allocator import Block

__all__ = ["DeviceArray"]


class DeviceArray(StridedArray):
    """A strided window of a `Block`."""

    __slots__ = ("block",)

    def __init__(
        self, block: Block, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: numpy.dtype
    ) -> None:
        self.block = block
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.dtype = dtype

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
