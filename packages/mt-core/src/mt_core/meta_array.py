"""The backend array of the meta device: a layout without data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["MetaArray", "contiguous_strides"]


def contiguous_strides(shape: tuple[int, ...], itemsize: int = 1) -> tuple[int, ...]:
    """Row-major strides of `shape`, in units of `itemsize`; empty dimensions count as 1, as in PyTorch."""
    strides = []
    step = itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= size if size > 1 else 1
    return tuple(reversed(strides))


class MetaArray:
    """Shape, strides (bytes), offset (bytes) and element type.

    `nbytes_owned` is the size of the storage it stands for.
    """

    __slots__ = ("shape", "strides", "dtype", "itemsize", "offset", "nbytes_owned")

    #: Of arrays that stand for another device's (`mt_core.hollow`).
    device: Any

    def __init__(
        self, shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None = None, offset: int = 0,
        nbytes_owned: int | None = None,
    ) -> None:  # fmt: skip
        self.shape = shape
        self.dtype = dtype
        self.itemsize = dtype.itemsize
        self.strides = contiguous_strides(shape, dtype.itemsize) if strides is None else strides
        self.offset = offset
        self.nbytes_owned = self.extent() if nbytes_owned is None else nbytes_owned

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def extent(self) -> int:
        """Bytes from the start of the array to the end of its last element."""
        if 0 in self.shape:
            return 0
        return self.itemsize + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
