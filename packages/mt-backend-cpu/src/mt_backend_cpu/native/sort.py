"""Sorting and selection by the native library, along the last dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32, int32, int64

from ..kernels import sort as on_numpy
from ..kernels.sort import with_order_of_ties
from ..registry import kernel
from . import library

Array = np.ndarray

#: Shorter rows are not worth counting digits.
_COUNTED = 128

if library is not None:
    _order = library.order

    def _is_long(self: Any, dim: int, *rest: Any) -> Any:
        ndim = self._array.ndim
        return ndim > 0 and dim in (-1, ndim - 1) and _COUNTED <= self._array.shape[-1] < 1 << 31

    def _is_long_and_stable(self: Any, stable: Any, dim: int, *rest: Any) -> Any:
        return _is_long(self, dim)

    def _accepts(also: Any) -> Accepts:
        return Accepts(dtypes=frozenset((float32, int32)), layout="row_major", also=also)

    @kernel("sort", accepts=_accepts(_is_long))
    def sort(self: Array, dim: int, descending: bool) -> tuple[Array, Array]:
        """self (*) -> values (*), indices (*) of int64."""
        return sort_stable(self, False, dim, descending)

    @kernel("sort.stable", accepts=_accepts(_is_long_and_stable))
    def sort_stable(self: Array, stable: Any, dim: int, descending: bool) -> tuple[Array, Array]:
        """self (*) -> values (*), indices (*) of int64."""
        values, order = _order(self, descending)
        return with_order_of_ties(self, values, order, stable, dim, descending)

    _distinct = library.distinct

    @kernel("_unique2", accepts=Accepts(dtypes=frozenset((int32, int64)), layout="row_major"))
    def unique2(self: Array, sorted: bool, return_inverse: bool, return_counts: bool) -> tuple[Any, Any, Any]:
        """self (any shape S) -> values (U,), inverse (*S) and counts (U,) of int64, or (0,) for what is not wanted."""
        made = _distinct(self, return_inverse, return_counts)
        if made is None:
            return on_numpy.unique2(self, sorted, return_inverse, return_counts)
        values, inverse, counts = made
        return on_numpy.answers(values, inverse, counts, (return_inverse, return_counts))


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
