"""Combining elements along dimensions: declarations."""

from __future__ import annotations

from typing import Any

from ..dtypes import bool as bool_
from ..dtypes import can_cast, dtype, get_default_dtype, scalar_type_name, uint8
from ._checks import REAL, USUAL, OutDtypes, Supported, not_castable
from ._declare import EXPECTED_OUT, Family

family = Family("reduction")

#: What the truth of something may be written to.
_TRUTHS = frozenset((bool_, uint8))


def of_out(self: Any, out: Any) -> dtype:
    """``out=`` says which dtype is computed in, unless the call does."""
    return out._dtype  # type: ignore[no-any-return]


def _mean_of_out(self: Any, out: Any) -> dtype | None:
    """The same where neither is of integers, which have no mean and hold none."""
    return out._dtype if self._dtype.category >= 2 and out._dtype.category >= 2 else None


def _mean_of_all_of_out(self: Any, out: Any) -> dtype | None:
    """The same of all elements, which asks first whether these may be cast."""
    if not can_cast(self._dtype, out._dtype):
        raise RuntimeError(
            f"mean.dtype_out(): input types can't be cast to the desired output type {scalar_type_name(out._dtype)}"
        )
    return _mean_of_out(self, out)


class _OutOfMean(OutDtypes):
    """Nothing but `dtype` makes the result of a mean another than ``out``; of integers it divides a sum in place."""

    __slots__ = ()

    def require(self, name: str, result: dtype, out: dtype, first: Any) -> None:
        if out.category < 2:
            raise not_castable(get_default_dtype(), out)
        super().require(name, result, out, first)


def _is_given(result: dtype, out: dtype) -> bool:
    return result is out


def _is_floating(result: dtype, out: dtype) -> bool:
    return out.category >= 2


_OUT_OF_MEAN = _OutOfMean(EXPECTED_OUT, _is_given)

family.plain(
    "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    out="out",
    out_is_internal=True,
    exact_out=True,
    doc="Sum of elements; integers and bool sum as int64.",
)
family.reduction(
    "sum",
    overload="dim_IntList",
    dim="int[1]? dim",
    dtype=True,
    out="IntList_out",
    exact_out=True,
    out_dtype=of_out,
)
family.plain(
    "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    out="dtype_out",
    out_check=_OUT_OF_MEAN,
    out_dtype=_mean_of_all_of_out,
    doc="Mean of floating-point or complex elements.",
)
family.reduction(
    "mean", overload="dim", dim="int[1]? dim", dtype=True, out="out", out_check=_OUT_OF_MEAN, out_dtype=_mean_of_out
)
family.plain(
    "prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    out="out",
    out_is_internal=True,
    exact_out=True,
    doc="Product of elements; integers and bool as int64.",
)
family.reduction("prod", overload="dim_int", dim="int dim", dtype=True, out="int_out", exact_out=True, out_dtype=of_out)
for _name, _which in (("amax", "Largest"), ("amin", "Smallest")):
    family.reduction(
        _name,
        dtypes=Supported(f"{_name[1:]}_values_cpu", REAL, idle="empty"),
        dim="int[1] dim=[]",
        exact_out="Expected the dtype for input and out to match, but got {expected} for input's dtype and {out} for out's "
        "dtype.",
        doc=f"{_which} element; NaN where there is one. The gradient is shared evenly by equal elements.",
    )
for _name, _which in (("max", "Largest"), ("min", "Smallest")):
    family.plain(
        f"{_name}(Tensor self) -> Tensor",
        out="unary_out",
        doc=f"{_which} element of all; NaN where there is one.",
        dtypes=Supported(f"{_name}_all", REAL),
    )
    family.plain(
        f"{_name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        out=(_name, f"{_name}_values"),
        doc=f"{_which} element along a dimension and its index.",
        dtypes=Supported(f"{_name}_cpu", USUAL, idle="scalar empty"),
        exact_out=True,
        not_in_part="self",
    )
    family.composite(f"{_name}.other(Tensor self, Tensor other) -> Tensor", out="out")
    family.plain(
        f"arg{_name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
        dtypes=Supported(f"arg{_name}_cpu", USUAL, idle="empty"),
        out=True,
        exact_out=True,
        doc=f"Index of the {_which.lower()} element (int64), in the flattened tensor where no dimension is given.",
    )
for _name in ("any", "all"):
    _words = "any element is" if _name == "any" else "all elements are"
    for _overload, _dim, _out in (
        ("", "", "all_out"),
        (".dim", ", int dim, bool keepdim=False", "out"),
        (".dims", ", int[]? dim=None, bool keepdim=False", "dims_out"),
    ):
        family.plain(
            f"{_name}{_overload}(Tensor self{_dim}) -> Tensor",
            out=_out,
            doc="" if _overload else f"Whether {_words} nonzero; bool, or uint8 for uint8.",
            exact_out=f"{_name} only supports bool tensor for result, got: {{out}}",
            out_takes=_TRUTHS,
        )
for _name, _what in (("var", "Variance"), ("std", "Standard deviation")):
    family.composite(f"{_name}(Tensor self, bool unbiased=True) -> Tensor", doc=f"{_what}, divided by n - correction.")
    family.composite(
        f"{_name}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
        out="out",
    )
    family.plain(
        f"{_name}.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
        out="correction_out",
    )
    family.composite(
        f"{_name}_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
        variants="function",
        doc=f"{_what} and mean.",
    )
    family.composite(
        f"{_name}_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
        variants="function",
    )
    family.plain(
        f"{_name}_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
        "(Tensor, Tensor)",
        variants="function",
    )
family.plain(
    "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    out=True,
    out_check=OutDtypes("logsumexp(): Expected floating point type for result tensor, but got: {out}", _is_floating),
    doc="log(sum(exp(x))), without overflow.",
)
family.composite(
    "sum_to_size(Tensor self, int[] size) -> Tensor",
    variants="method",
    doc="Sum over the dimensions that broadcasting from `size` would have added or widened.",
)
