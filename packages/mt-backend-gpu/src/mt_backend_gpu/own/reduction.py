"""Sums, extremes, tests and moments over any dimensions: one launch, and another where parts are joined."""

from __future__ import annotations

from typing import Any

import numpy

from mt_core import dtypes
from mt_core.dispatch.kernel import Accepts

from ..compiled.on_cupy import FLOATING, compiled, fits, machine
from ..compiled.reduction import reduce

_INTEGERS = frozenset((dtypes.int64, dtypes.int32, dtypes.int16, dtypes.int8, dtypes.uint8))
_REAL = FLOATING | _INTEGERS
_INT64, _BOOL = numpy.dtype(numpy.int64), numpy.dtype(bool)


def axes(self: Any, dim: Any) -> tuple[int, ...]:
    """The dimensions that are reduced: all of them for None and for none."""
    return (
        tuple(range(self.ndim))
        if dim is None or dim == () or dim == []
        else (dim,)
        if isinstance(dim, int)
        else tuple(dim)
    )


def _described(self: Any, *rest: Any) -> bool:
    return fits(self)


def _kept(self: Any, dtype: Any) -> bool:
    """Whether sums come in the array's own dtype, and in int64 for integers."""
    return fits(self) and dtype in (
        None,
        dtypes.int64 if self._dtype in _INTEGERS or self._dtype is dtypes.bool else self._dtype,
    )


def total(self: Any, dim: Any, keepdim: bool) -> Any:
    """The sum, in int64 for integers."""
    result = _INT64 if self.dtype.kind in "iub" else None
    return reduce(machine(), "sum", self, axes(self, dim), result=result, keepdim=keepdim)


@compiled("sum", accepts=Accepts(dtypes=_REAL | {dtypes.bool}, also=_kept))
def sum_all(self: Any, dtype: Any) -> Any:
    """self (*) -> (); int64 for integers and bool."""
    return total(self, None, False)


@compiled(
    "sum.dim_IntList",
    accepts=Accepts(dtypes=_REAL | {dtypes.bool}, also=lambda self, dim, keepdim, dtype: _kept(self, dtype)),
)
def sum_dims(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; int64 for integers and bool."""
    return total(self, dim, keepdim)


@compiled("mean", accepts=Accepts(dtypes=FLOATING, also=_kept))
def mean_all(self: Any, dtype: Any) -> Any:
    """self (*) -> ()."""
    return reduce(machine(), "mean", self, axes(self, None))


@compiled("mean.dim", accepts=Accepts(dtypes=FLOATING, also=lambda self, dim, keepdim, dtype: _kept(self, dtype)))
def mean_dims(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`."""
    return reduce(machine(), "mean", self, axes(self, dim), keepdim=keepdim)


_SOME = Accepts(dtypes=_REAL, also=lambda self, *rest: fits(self) and self._array.size > 0)


def extremes(name: str) -> None:
    """Enter ``amax``, ``max``, ``max.dim`` and ``argmax``, or those of the least."""

    @compiled(f"a{name}", accepts=_SOME)
    def of_dims(self: Any, dim: Any, keepdim: bool) -> Any:
        """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`."""
        return reduce(machine(), f"a{name}", self, axes(self, dim), keepdim=keepdim)

    @compiled(name, accepts=_SOME)
    def of_all(self: Any) -> Any:
        """self (*) -> ()."""
        return reduce(machine(), f"a{name}", self, axes(self, None))

    @compiled(f"arg{name}", accepts=_SOME)
    def place(self: Any, dim: Any, keepdim: bool) -> Any:
        """self (*S) -> S without the dimension `dim` (() for None), or 1 there with `keepdim`; int64."""
        return reduce(machine(), f"arg{name}", self, axes(self, dim), result=_INT64, keepdim=keepdim)

    @compiled(f"{name}.dim", accepts=_SOME)
    def with_place(self: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
        """self (*S) -> values and indices (int64), S without the dimension `dim`, or 1 there with `keepdim`."""
        found = axes(self, dim) if self.ndim else ()
        values = reduce(machine(), f"a{name}", self, found, keepdim=keepdim)
        return values, reduce(machine(), f"arg{name}", self, found, result=_INT64, keepdim=keepdim)


extremes("max")
extremes("min")


def truth(name: str) -> None:
    """Enter ``any`` or ``all``; of uint8 the result is uint8."""

    def run(self: Any, dim: Any, keepdim: bool) -> Any:
        result = self.dtype if self.dtype == numpy.uint8 else _BOOL
        return reduce(machine(), f"{name}_of", self, dim, result=result, keepdim=keepdim)

    accepts = Accepts(dtypes=_REAL | {dtypes.bool}, also=_described)

    @compiled(name, accepts=accepts)
    def of_all(self: Any) -> Any:
        """self (*) -> ()."""
        return run(self, axes(self, None), False)

    @compiled(f"{name}.dim", accepts=accepts)
    def of_dim(self: Any, dim: int, keepdim: bool) -> Any:
        """self (*S) -> S without the dimension `dim`, or 1 there with `keepdim`."""
        return run(self, axes(self, dim) if self.ndim else (), keepdim)


truth("any")
truth("all")


def moments(name: str, functor: str) -> None:
    """Enter ``var.correction`` or ``std.correction``, and the form with the mean."""

    def spread(self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
        free = 1.0 if correction is None else float(correction)
        return reduce(machine(), functor, self, axes(self, dim), correction=free, keepdim=keepdim)

    accepts = Accepts(dtypes=FLOATING, also=_described)

    @compiled(f"{name}.correction", accepts=accepts)
    def alone(self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
        """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`."""
        return spread(self, dim, correction, keepdim)

    @compiled(f"{name}_mean.correction", accepts=accepts)
    def with_mean(self: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
        """self (*S) -> twice S without the dimensions `dim`, or 1 there with `keepdim`."""
        mean = reduce(machine(), "mean", self, axes(self, dim), keepdim=keepdim)
        return spread(self, dim, correction, keepdim), mean


moments("var", "variance")
moments("std", "deviation")
