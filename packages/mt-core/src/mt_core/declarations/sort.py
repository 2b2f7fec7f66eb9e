"""Sorting, searching and ordered statistics: declarations."""

from __future__ import annotations

from typing import Any

from ..dtypes import ALL_DTYPES, dtype, int32, scalar_type_name
from ._checks import FLOAT8, FLOATS, INTEGERS, REAL, USUAL, OutOf, Supported
from ._declare import Family

family = Family("sort")

_PAIR = ("values", "indices")
#: What is said of outputs of other dtypes by operators whose checks are written by hand.
_OF_KTH = ("output values must be of same type as input", "output indices must be of scalar type Long")
_OF_MEDIAN = (
    (
        "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type torch.{out}Tensor "
        "does not equal torch.{expected}Tensor (while checking arguments for median)"
    ),
    (
        "Expected tensor for argument #1 'indices' to have scalar type Long; but got torch.{out}Tensor instead (while "
        "checking arguments for median)"
    ),
)
_SORTED = Supported("sorting_kernel_method_name", frozenset(ALL_DTYPES) - FLOAT8, idle="scalar")


#: What places are written to; as PyTorch says it where they are to be of int64.
def _check_searched_out(first: Any, result: dtype, out: dtype) -> None:
    if out is not result:
        raise RuntimeError(
            "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
            f"whether out_int32 flag is True, but we got output tensor's dtype {scalar_type_name(out)} and out_int32 flag "
            f"is {result is int32}"
        )


_OUT = OutOf(_check_searched_out)

family.plain(
    "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    out=_PAIR,
    doc="Elements of a dimension in order, and where they came from; NaN counts as the largest.",
    exact_out=True,
    not_in_part="self",
    dtypes=_SORTED,
    laid_out=True,
)
family.composite(
    "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    out=_PAIR,
    exact_out=True,
    not_in_part="self",
    dtypes=_SORTED,
    laid_out=True,
)
family.composite(
    "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
    doc="Indices that sort along `dim`.",
    dtypes=_SORTED,
)
family.composite(
    "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", dtypes=_SORTED
)
family.composite(
    "msort(Tensor self) -> Tensor",
    out=True,
    exact_out=True,
    not_in_part="self",
    doc="Sorted along the first dimension.",
    dtypes=_SORTED,
    laid_out=True,
)
family.plain(
    "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
    out=_PAIR,
    doc="The k largest (or smallest) elements of a dimension, and where they are.",
    exact_out=True,
    not_in_part="self",
    dtypes=Supported("topk_cpu", USUAL, idle="scalar"),
)
family.plain(
    "kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    out=_PAIR,
    exact_out=_OF_KTH,
    apart="self",
    apart_first=True,
    doc="The k-th smallest element along `dim`, k from 1, and its index.",
    dtypes=Supported("kthvalue_cpu", INTEGERS | FLOATS, idle="scalar"),
)
family.plain(
    "median(Tensor self) -> Tensor",
    doc="The lower of the middle elements; NaN where there is one.",
    dtypes=Supported("median_cpu", INTEGERS | FLOATS, idle="empty"),
)
family.plain(
    "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    out=_PAIR,
    exact_out=_OF_MEDIAN,
    not_in_part="self",
    dtypes=Supported("median_out", INTEGERS | FLOATS),
)
family.plain(
    "nanmedian(Tensor self) -> Tensor",
    doc="Median of the elements that are not nan.",
    dtypes=Supported("median_cpu", INTEGERS | FLOATS, idle="empty"),
)
family.plain(
    "nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    out=_PAIR,
    exact_out=_OF_MEDIAN,
    not_in_part="self",
    dtypes=Supported("median_out", INTEGERS | FLOATS),
)
family.plain(
    "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    out=_PAIR,
    doc="The most frequent element of a dimension, the smallest of several, and the index of its last occurrence.",
    exact_out=(
        "expected scalar type '{expected}' but got '{out}' for values output",
        "expected scalar type '{expected}' but got '{out}' for indices output",
    ),
    not_in_part="self",
    dtypes=Supported("mode_cpu", REAL, idle="scalar empty"),
)
family.plain(
    "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? "
    "side=None, Tensor? sorter=None) -> Tensor",
    variants="function",
    out="Tensor_out",
    out_check=_OUT,
    doc="Where each value would be inserted into the sorted last dimension.",
)
family.composite(
    "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? "
    "side=None, Tensor? sorter=None) -> Tensor",
    variants="function",
)
family.composite(
    "bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    variants="function",
    out="Tensor_out",
    out_check=_OUT,
)
family.composite(
    "bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    variants="function",
    doc="Index of the interval, between rising boundaries, that each value falls in.",
)
family.plain(
    "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> "
    "(Tensor, Tensor, Tensor)",
    variants="function",
    namespace="internal",
    doc="Distinct slices along `dim`, sorted; with inverse indices and counts.",
    dtypes=Supported("unique_dim", frozenset(ALL_DTYPES) - FLOAT8),
)
family.plain(
    "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, "
    "Tensor, Tensor)",
    variants="function",
    dtypes=Supported("unique", frozenset(ALL_DTYPES) - FLOAT8),
)
family.composite(
    "_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)",
    variants="function",
    dtypes=Supported("unique", frozenset(ALL_DTYPES) - FLOAT8),
    doc="Distinct elements, sorted; with inverse indices.",
)
family.plain(
    "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> "
    "(Tensor, Tensor, Tensor)",
    variants="",
    doc="Runs of equal elements collapsed.",
    dtypes=Supported(lambda args: "unique" if args[3] is None else "unique_dim", frozenset(ALL_DTYPES) - FLOAT8),
)
