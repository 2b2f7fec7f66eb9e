"""Cumulative operators, and reductions made of others: declarations."""

from __future__ import annotations

from .reduction import ops

for _name, _what in (("cumsum", "Sums"), ("cumprod", "Products")):
    ops.plain(
        f"{_name}(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
        inplace=True,
        out=True,
        doc=f"{_what} of all elements up to each one, along a dimension.",
    )
for _name in ("cummax", "cummin"):
    ops.plain(
        f"{_name}(Tensor self, int dim) -> (Tensor values, Tensor indices)",
        out=("values", "indices"),
        doc="The extreme element up to each one, along a dimension, and its last index.",
        exact_out=True,
    )
ops.plain(
    "logcumsumexp(Tensor self, int dim) -> Tensor",
    out=True,
    exact_out=True,
    doc="Logarithm of the running sum of exponentials, without overflow.",
)
ops.composite(
    "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    out=True,
    doc="`sum` with NaN as 0.",
)
ops.composite(
    "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    out=True,
    doc="Mean of the elements that are not nan.",
)
ops.composite(
    "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
    out=True,
    doc="Differences of neighbours, n times.",
)
ops.composite(
    "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    out=("min", "max"),
    exact_out=True,
    doc="Smallest and largest element, of all or along `dim`.",
)
for _name in ("quantile", "nanquantile"):
    ops.composite(
        f"{_name}(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
        out=True,
        doc="The q-quantiles (q from 0 to 1) of a dimension, interpolated between the nearest elements.",
    )
    ops.composite(
        f"{_name}.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> "
        "Tensor",
        out="scalar_out",
    )
ops.composite("trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", variants="function")
ops.composite(
    "trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    variants="function",
    doc="Integral along `dim` by the trapezoidal rule.",
)
ops.composite("trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", variants="function")
ops.composite(
    "trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor",
    variants="function",
    doc="Second name of `trapezoid`.",
)
ops.composite("cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", variants="function")
ops.composite(
    "cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    variants="function",
    doc="Running integral along `dim` by the trapezoidal rule.",
)
ops.composite(
    "cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
    doc="Covariance of variables (rows) over observations.",
)
ops.composite("corrcoef(Tensor self) -> Tensor", doc="Correlation coefficients of variables in rows.")
ops.plain(
    "bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor",
    doc="How often each non-negative integer occurs.",
)
ops.plain(
    "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
    out=True,
    doc="Counts of elements in `bins` equal intervals from min to max.",
)
ops.composite("trace(Tensor self) -> Tensor", doc="Sum of a matrix's diagonal.")
ops.composite(
    "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
    inplace=True,
    out=True,
    exact_out=True,
    doc="Slices along `dim` scaled down to p-norm `maxnorm` where they exceed it.",
)
