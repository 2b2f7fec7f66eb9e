"""Sorting and selection by the native library, along the last dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32

from ..registry import kernel
from . import library

Array = np.ndarray

if library is not None and hasattr(library, "topk"):
    _topk = library.topk

    def _along_last(self: Any, k: int, dim: int, *rest: Any) -> Any:
        ndim = self._array.ndim
        return ndim > 0 and dim in (-1, ndim - 1)

    @kernel("topk", accepts=Accepts(dtypes=frozenset((float32,)), layout="row_major", also=_along_last))
    def topk(self: Array, k: int, dim: int, largest: bool, sorted: bool) -> tuple[Array, Array]:
        """self (*L, N) -> values and indices (int64), (*L, k)."""
        found: tuple[Array, Array] = _topk(self, k, largest, sorted)
        return found
