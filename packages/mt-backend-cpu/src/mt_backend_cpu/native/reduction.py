"""Sums, means and extremes by the native library."""

from __future__ import annotations

from typing import Any

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32

from ..registry import kernel
from . import library

if library is not None:
    _sum, _mean, _amax, _amin = library.sum, library.mean, library.amax, library.amin

    def _side_by_side(self: Any, dim: Any, keepdim: bool, dtype: Any = None) -> bool:
        """Whether dimensions follow one another; none stands for all of them."""
        ndim = self._array.ndim
        if not dim:
            return True
        dims = sorted({d % ndim if ndim else 0 for d in dim})
        return bool(ndim) and dims[-1] - dims[0] == len(dims) - 1

    _SINGLE = frozenset((float32,))
    _ALL = Accepts(dtypes=_SINGLE, layout="row_major", defaults=("dtype",))
    _ALONG = Accepts(dtypes=_SINGLE, layout="row_major", defaults=("dtype",), also=_side_by_side)
    _EXTREME = Accepts(dtypes=_SINGLE, layout="row_major", also=_side_by_side)

    @kernel("sum", accepts=_ALL)
    def sum_all(self: Any) -> Any:
        """self (*) -> ()."""
        return _sum(self, None, False)

    @kernel("mean", accepts=_ALL)
    def mean_all(self: Any) -> Any:
        """self (*) -> ()."""
        return _mean(self, None, False)

    @kernel("sum.dim_IntList", accepts=_ALONG)
    def sum_dims(self: Any, dim: Any, keepdim: bool) -> Any:
        """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`."""
        return _sum(self, dim, keepdim)

    @kernel("mean.dim", accepts=_ALONG)
    def mean_dims(self: Any, dim: Any, keepdim: bool) -> Any:
        """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`."""
        return _mean(self, dim, keepdim)

    @kernel("amax", accepts=_EXTREME)
    def amax(self: Any, dim: Any, keepdim: bool) -> Any:
        """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`."""
        return _amax(self, dim, keepdim)

    @kernel("amin", accepts=_EXTREME)
    def amin(self: Any, dim: Any, keepdim: bool) -> Any:
        """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`."""
        return _amin(self, dim, keepdim)
