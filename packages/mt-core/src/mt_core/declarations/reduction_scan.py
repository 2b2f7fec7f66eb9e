"""Cumulative operators, and reductions made of others: declarations."""

from __future__ import annotations

from typing import Any

from ..dtypes import dtype
from ._checks import BOOL, FLOATS, NUMBERS, REAL, UNSIGNED, USUAL, Supported
from .reduction import family, of_out


def _integrable(name: str, which: str) -> Supported:
    """Numbers, as values and as places."""

    def refuse_bool(args: tuple[Any, ...], common: dtype) -> None:
        if any(getattr(value, "_dtype", None) in BOOL for value in args):
            raise RuntimeError(f"{name}: received a bool input for {which}, but bool is not supported")

    return Supported(name, NUMBERS, also=refuse_bool)


def _nansum_of_out(self: Any, out: Any) -> dtype:
    """What NaNs are taken out of is added up in floating point, unless the call says otherwise."""
    if self._dtype.is_floating_point:
        Supported("nansum_cpu", FLOATS).require((), out._dtype)
    return of_out(self, out)


for _name, _what in (("cumsum", "Sums"), ("cumprod", "Products")):
    family.plain(
        f"{_name}(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
        inplace=True,
        out=True,
        exact_out=True,
        out_dtype=of_out,
        not_in_part="self",
        doc=f"{_what} of all elements up to each one, along a dimension.",
    )
for _name in ("cummax", "cummin"):
    family.plain(
        f"{_name}(Tensor self, int dim) -> (Tensor values, Tensor indices)",
        out=("values", "indices"),
        doc="The extreme element up to each one, along a dimension, and its last index.",
        exact_out="expected scalar_type {expected} but found {out}",
        dtypes=Supported(f"{_name}_cpu", REAL, idle="scalar empty"),
    )
family.plain(
    "logcumsumexp(Tensor self, int dim) -> Tensor",
    out=True,
    exact_out="expected scalar_type {expected} but found {out}",
    not_in_part="self",
    doc="Logarithm of the running sum of exponentials, without overflow.",
    dtypes=Supported("logcumsumexp_out_cpu", USUAL | UNSIGNED),
)
family.composite(
    "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    out=True,
    exact_out="nansum: provided dtype must match dtype of result. Got {out} and {expected}.",
    out_dtype=_nansum_of_out,
    doc="`sum` with NaN as 0.",
)
family.composite(
    "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    out=True,
    exact_out="nansum: provided dtype must match dtype of result. Got {out} and {expected}.",
    out_dtype=of_out,
    doc="Mean of the elements that are not nan.",
)
family.composite(
    "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
    out=True,
    apart="self",
    doc="Differences of neighbours, n times.",
)
family.composite(
    "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    out=("min", "max"),
    exact_out=True,
    not_in_part="self",
    doc="Smallest and largest element, of all or along `dim`.",
)
for _name in ("quantile", "nanquantile"):
    family.composite(
        f"{_name}(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
        out=True,
        exact_out="quantile() out tensor must be same dtype as the input tensor",
        doc="The q-quantiles (q from 0 to 1) of a dimension, interpolated between the nearest elements.",
    )
    family.composite(
        f"{_name}.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> "
        "Tensor",
        out="scalar_out",
        exact_out="quantile() out tensor must be same dtype as the input tensor",
    )
family.composite(
    "trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    variants="function",
    dtypes=_integrable("trapezoid", "`x` or `y`"),
)
family.composite(
    "trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    dtypes=_integrable("trapezoid", "`y`"),
    variants="function",
    doc="Integral along `dim` by the trapezoidal rule.",
)
family.composite(
    "trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    variants="function",
    dtypes=_integrable("trapezoid", "`x` or `y`"),
)
family.composite(
    "trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor",
    dtypes=_integrable("trapezoid", "`y`"),
    variants="function",
    doc="Second name of `trapezoid`.",
)
family.composite(
    "cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    variants="function",
    dtypes=_integrable("cumulative_trapezoid", "`x` or `y`"),
)
family.composite(
    "cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    dtypes=_integrable("cumulative_trapezoid", "`y`"),
    variants="function",
    doc="Running integral along `dim` by the trapezoidal rule.",
)
family.composite(
    "cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
    doc="Covariance of variables (rows) over observations.",
)
family.composite("corrcoef(Tensor self) -> Tensor", doc="Correlation coefficients of variables in rows.")
family.plain(
    "bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor",
    doc="How often each non-negative integer occurs.",
    dtypes=Supported("bincount_cpu", USUAL),
)
family.plain(
    "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
    out=True,
    exact_out="torch.histogram: input tensor and hist tensor should have the same dtype, but got input {cpp_expected} and "
    "hist {cpp_out}",
    doc="Counts of elements in `bins` equal intervals from min to max.",
)
family.composite("trace(Tensor self) -> Tensor", doc="Sum of a matrix's diagonal.", dtypes=Supported("trace", USUAL))
family.composite(
    "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
    inplace=True,
    out=True,
    exact_out=True,
    not_in_part="self",
    doc="Slices along `dim` scaled down to p-norm `maxnorm` where they exceed it.",
)
