"""Sorting and searching written in other operators."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ..promotion import dtype_of_number


@composite("sort", explicit=True)
def sort(self: Any, dim: int, descending: bool) -> Any:
    return ops.sort(self, stable=False, dim=dim, descending=descending)


@composite("argsort")
def argsort(self: Any, dim: int, descending: bool) -> Any:
    """self (*) -> indices (*) of int64."""
    return ops.sort(self, stable=False, dim=dim, descending=descending)[1]


@composite("argsort.stable")
def argsort_stable(self: Any, stable: bool, dim: int, descending: bool) -> Any:
    """self (*) -> indices (*) of int64."""
    return ops.sort(self, stable=stable, dim=dim, descending=descending)[1]


@composite("_unique", explicit=True)
def unique(self: Any, sorted: bool, return_inverse: bool) -> tuple[Any, Any]:
    """self (any shape S) -> values (U,), inverse (*S) of int64, or (0,) where it is not wanted."""
    return ops._unique2(self, sorted, return_inverse)[:2]  # type: ignore[no-any-return]


@composite("msort")
def msort(self: Any) -> Any:
    """self (N, *) -> (N, *), sorted along its first dimension."""
    return ops.sort(self, dim=0)[0]


@composite("searchsorted.Scalar")
def searchsorted_scalar(sorted_sequence: Any, self: Any, out_int32: bool, right: bool, side: Any, sorter: Any) -> Any:
    own = dtype_of_number(self)
    value = ops.full((), self, dtype=dtypes.float64 if own.is_floating_point else own, device=sorted_sequence.device)
    value = value.to(sorted_sequence.dtype if own.category <= sorted_sequence.dtype.category else own)
    return ops.searchsorted(sorted_sequence, value, out_int32=out_int32, right=right, side=side, sorter=sorter)


@composite("bucketize.Tensor")
def bucketize(self: Any, boundaries: Any, out_int32: bool, right: bool) -> Any:
    """self (*), boundaries (B,) -> (*) of int64, or int32 with `out_int32`."""
    if boundaries.dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    return ops.searchsorted(boundaries, self, out_int32=out_int32, right=right)


@composite("bucketize.Scalar")
def bucketize_scalar(self: Any, boundaries: Any, out_int32: bool, right: bool) -> Any:
    return searchsorted_scalar(boundaries, self, out_int32, right, None, None)
