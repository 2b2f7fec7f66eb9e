"""Shape rules of cumulative operators and counts."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..declarations._checks import BOOL, REAL, USUAL, Supported
from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import scalar_type_name
from ..spec import Spec
from ..tensor import wrap_dim
from .indexing import data_dependent
from .reduction import summed_dtype
from .sort import Deferred


def _cumulative(supported: Supported) -> Any:
    def rule(self: Any, dim: int, dtype: Any) -> Spec:
        """self (*) -> (*); int64 for integers and bool."""
        wrap_dim(dim, self.dim())
        return Spec(self._array.shape, summed_dtype(self, dtype, supported))

    return rule


shape_rule("cumsum")(_cumulative(Supported("cumsum_out_cpu", USUAL - BOOL, idle="scalar")))
shape_rule("cumprod")(_cumulative(Supported("cumprod_out_cpu", USUAL - BOOL, idle="scalar")))


def _cumulative_extreme(name: str) -> Any:
    def rule(self: Any, dim: int) -> tuple[Spec, Spec]:
        """self (*) -> values (*), indices (*) of int64; of nothing along any `dim`."""
        if not self.dim() and dim not in (-1, 0):
            raise IndexError(f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
        if self._array.size:
            wrap_dim(dim, self.dim())
        return Spec(self._array.shape, self._dtype), Spec(self._array.shape, dtypes.int64)

    return rule


shape_rule("cummax")(_cumulative_extreme("cummax"))
shape_rule("cummin")(_cumulative_extreme("cummin"))


@shape_rule("logcumsumexp")
def logcumsumexp(self: Any, dim: int) -> Spec:
    """self (*) -> (*)."""
    wrap_dim(dim, self.dim())
    if self._dtype.category < 2:
        raise NotImplementedError(f"\"logcumsumexp_out_cpu\" not implemented for '{scalar_type_name(self._dtype)}'")
    return Spec(self._array.shape, self._dtype)


@shape_rule("bincount")
def bincount(self: Any, weights: Any, minlength: int) -> Spec:
    """self (N,) of integers, weights (N,) -> (max(largest + 1, minlength),), known after counting."""
    data_dependent("bincount", self)
    if self.dim() == 1 and not self._array.size and self._dtype.category == 1 and minlength >= 0:
        return Spec((minlength,), dtypes.int64)
    if self.dim() != 1 or self._dtype.category != 1:
        if self._dtype.category != 1:
            raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{scalar_type_name(self._dtype)}'")
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and weights._array.shape != self._array.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    d = dtypes.int64 if weights is None else dtypes.float32 if weights._dtype is dtypes.float32 else dtypes.float64
    return Deferred(d)


#: What the extremes of a histogram are looked for in.
_BINNED = Supported("aminmax_cpu", REAL)


@shape_rule("histc")
def histc(self: Any, bins: int, min: Any, max: Any) -> Spec:
    """self (any shape) -> (bins,)."""
    if bins <= 0:
        raise RuntimeError(f"bins must be > 0, but got {bins}")
    _BINNED.require((), self._dtype)
    if self._dtype is dtypes.bool:
        raise NotImplementedError("\"linspace_cpu\" not implemented for 'Bool'")
    if self._dtype.category < 2:
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{scalar_type_name(self._dtype)}'")
    return Spec((bins,), self._dtype)
