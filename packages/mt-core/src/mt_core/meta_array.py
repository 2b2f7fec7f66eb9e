"""The backend array of the meta device: a layout without data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .symbolic import at_least_one, is_empty

__all__ = ["HollowArray", "MetaArray", "contiguous_strides"]


def contiguous_strides(shape: tuple[int, ...], itemsize: int = 1) -> tuple[int, ...]:
    """Row-major strides of `shape`, in units of `itemsize`; empty dimensions count as 1, as in PyTorch."""
    strides = []
    step = itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= (size if size > 1 else 1) if size.__class__ is int else at_least_one(size)
    return tuple(reversed(strides))


class MetaArray:
    """Shape, strides (bytes), offset (bytes) and element type.

    `nbytes_owned` is the size of the storage it stands for.
    """

    __slots__ = ("shape", "strides", "dtype", "itemsize", "offset", "nbytes_owned")

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
        if is_empty(self.shape):
            return 0
        return self.itemsize + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))


class HollowArray(MetaArray):
    """A layout without data, on a device that need not even be there.

    Attributes
    ----------
    has_elements : bool
        Whether something stands behind it that has elements.
    """

    __slots__ = ("device",)
    has_elements = True

    def __init__(self, shape: tuple[int, ...], d: Any, strides: tuple[int, ...], offset: int, on: Any) -> None:
        """Strides and offset are in elements, `d` is a `mt_core.dtypes.dtype` and `on` a device."""
        size = d.itemsize
        super().__init__(shape, d.numpy_dtype, tuple([step * size for step in strides]), offset * size)
        self.device = on

    def elements_for(self, use: str) -> Any:
        """The tensor whose elements are read in place of this one's, for ``item``, ``bool`` or ``memory``.

        Raises
        ------
        RuntimeError
            Where there are none to be read.
        """
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def text(self) -> str | None:
        """What is printed in place of elements; None where nothing stands for them."""
        return None
