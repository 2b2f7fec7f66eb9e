"""Shape rules of sorting and searching."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..contract_kernels.creation import strides_like
from ..declarations._checks import FLOATS, INTEGERS, Supported
from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import scalar_type_name
from ..errors import NoData
from ..promotion import result_type_of
from ..spec import AS_MADE, Spec
from ..tensor import wrap_dim
from .reduction import reduced_shape

Ints = tuple[int, ...]


def _not_for(self: Any, name: str, *, bool_too: bool = True) -> None:
    """Refuse complex numbers, and bool, in the words of PyTorch's kernel `name`."""
    if self._dtype.is_complex or bool_too and self._dtype is dtypes.bool:
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar_type_name(self._dtype)}'")


@shape_rule("sort.stable")
def sort(self: Any, stable: Any, dim: int, descending: bool) -> tuple[Spec, Spec]:
    """self (*) -> values (*), indices (*) of int64."""
    wrap_dim(dim, self.dim())
    if self._dtype.is_complex:
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    shape, strides = self._array.shape, strides_like(self, None)
    return Spec(shape, self._dtype, strides), Spec(shape, dtypes.int64, strides)


@shape_rule("sort")
def sort_unstably(self: Any, dim: int, descending: bool) -> tuple[Spec, Spec]:
    """self (*) -> values (*), indices (*) of int64."""
    return sort(self, None, dim, descending)


@shape_rule("topk")
def topk(self: Any, k: int, dim: int, largest: bool, sorted: bool) -> tuple[Spec, Spec]:
    """self (*L, N, *R) -> values and indices (int64), (*L, k, *R), at `dim`."""
    shape = self._array.shape
    at = wrap_dim(dim, len(shape))
    extent = shape[at] if shape else 1
    if not 0 <= k <= extent:
        raise RuntimeError("selected index k out of range")
    if self._dtype.is_complex:
        raise RuntimeError(" topk does not support complex dtypes on CPU")
    if self._dtype is dtypes.bool:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    result = (*shape[:at], k, *shape[at + 1 :]) if shape else ()
    return Spec(result, self._dtype), Spec(result, dtypes.int64)


def _pair(self: Any, dim: int, keepdim: bool) -> tuple[Spec, Spec]:
    shape = self._array.shape
    at = wrap_dim(dim, len(shape))
    result = reduced_shape(shape, (at,), keepdim) if shape else ()
    return Spec(result, self._dtype), Spec(result, dtypes.int64)


def _not_empty(self: Any, dim: int, name: str) -> None:
    shape = self._array.shape
    if shape and shape[wrap_dim(dim, len(shape))] == 0:
        raise IndexError(f"{name}: Expected reduction dim {dim % len(shape)} to have non-zero size.")


@shape_rule("kthvalue")
def kthvalue(self: Any, k: int, dim: int, keepdim: bool) -> tuple[Spec, Spec]:
    """self (*S) -> values and indices (int64), S without the dimension `dim`, or 1 there with `keepdim`."""
    _not_empty(self, dim, "kthvalue()")
    shape = self._array.shape
    extent = shape[wrap_dim(dim, len(shape))] if shape else 1
    if not 1 <= k <= extent:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {wrap_dim(dim, len(shape))}")
    return _pair(self, dim, keepdim)


@shape_rule("median", "nanmedian")
def median(self: Any) -> Spec:
    """self (*) -> ()."""
    return Spec((), self._dtype)


@shape_rule("median.dim", "nanmedian.dim")
def median_dim(self: Any, dim: int, keepdim: bool) -> tuple[Spec, Spec]:
    """self (*S) -> values and indices (int64), S without the dimension `dim`, or 1 there with `keepdim`."""
    _not_empty(self, dim, "median()")
    return _pair(self, dim, keepdim)


@shape_rule("mode")
def mode(self: Any, dim: int, keepdim: bool) -> tuple[Spec, Spec]:
    """self (*S) -> values and indices (int64), S without the dimension `dim`, or 1 there with `keepdim`."""
    _not_empty(self, dim, "mode()")
    return _pair(self, dim, keepdim)


_SEARCHED = Supported("searchsorted_out_cpu", INTEGERS | FLOATS)


@shape_rule("searchsorted.Tensor")
def searchsorted(sorted_sequence: Any, self: Any, out_int32: bool, right: bool, side: str | None, sorter: Any) -> Spec:
    """sorted_sequence (*, N) or (N,), self (*, K) -> (*, K) of int64, or int32 with `out_int32`."""
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    a, b = sorted_sequence._array.shape, self._array.shape
    if not b and len(a) != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({len(a)}) and input value's dim(0) numel(1)"
        )
    if not a:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if len(a) != 1 and (len(a) != len(b) or a[:-1] != b[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
            f"boundaries tensor and input value tensor must match, but we got boundaries tensor {list(a)} and input "
            f"value tensor {list(b)}"
        )
    if sorter is not None and sorter._array.shape != a:
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
            f"{list(a)}and got sorter tensor {list(sorter.shape)}"
        )
    if sorter is not None and sorter._dtype is not dtypes.int64:
        raise RuntimeError(
            f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {_lower(sorter)}"
        )
    common = result_type_of((sorted_sequence, self))
    if self._array.size:
        _SEARCHED.require((), common)
    return Spec(b, dtypes.int32 if out_int32 else dtypes.int64)


def _lower(tensor: Any) -> str:
    return scalar_type_name(tensor._dtype)


class Deferred(Spec):
    """The spec of a result whose shape only the kernel knows."""

    __slots__ = ()

    def __init__(self, dtype: Any, strides: tuple[int, ...] | None = None) -> None:
        super().__init__((), dtype, strides)


def _three(self: Any, name: str) -> tuple[Spec, Spec, Spec]:
    _not_for(self, name, bool_too=False)
    if self.is_meta:
        raise NoData(f"{name} on the meta device: the shape of the result depends on data")
    laid_out = AS_MADE if name == "unique_dim" else None  # slices lie in one piece each
    return Deferred(self._dtype, laid_out), Deferred(dtypes.int64), Deferred(dtypes.int64)


@shape_rule("_unique2")
def unique2(self: Any, sorted: bool, return_inverse: bool, return_counts: bool) -> tuple[Spec, Spec, Spec]:
    """self (any shape S) -> values (U,), inverse (*S) and counts (U,) of int64, or (0,) for what is not wanted."""
    return _three(self, "unique")


@shape_rule("_unique")
def unique(self: Any, sorted: bool, return_inverse: bool) -> tuple[Spec, Spec]:
    """self (any shape S) -> values (U,), inverse (*S) of int64, or (0,) where it is not wanted."""
    return _three(self, "unique")[:2]


@shape_rule("unique_dim")
def unique_dim(self: Any, dim: int, sorted: bool, return_inverse: bool, return_counts: bool) -> tuple[Spec, Spec, Spec]:
    """self (*L, N, *R) -> values (*L, U, *R), inverse (N,) and counts (U,) of int64, at `dim`."""
    _check_slices(self, dim)
    return _three(self, "unique_dim")


def _check_slices(self: Any, dim: int) -> None:
    """Refuse slices without elements: whether they are equal cannot be told."""
    self.size(dim)
    shape = self._array.shape
    empty = [i for i, n in enumerate(shape) if not n]
    if len(empty) > 1:
        raise RuntimeError("Number of zero sized dimensions is more than one, so unique cannot be applied ")
    if empty and shape[wrap_dim(dim, len(shape))]:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")


@shape_rule("unique_consecutive")
def unique_consecutive(self: Any, return_inverse: bool, return_counts: bool, dim: Any) -> tuple[Spec, Spec, Spec]:
    """self (any shape S) -> values (U,), inverse (*S) and counts (U,) of int64; along `dim` as `unique_dim`."""
    if dim is not None:
        _check_slices(self, dim)
    return _three(self, "unique" if dim is None else "unique_dim")
