"""Shape rules of indexing."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from .. import dtypes
from ..declarations._checks import UNSIGNED, Supported
from ..deprecation import warn_once
from ..determinism import alert_not_deterministic
from ..dispatch.memory import check_no_overlap, check_no_partial_overlap
from ..dispatch.registry import register_shape_rule as shape_rule
from ..dispatch.writing import check_shape
from ..errors import NoData
from ..hollow import has_elements
from ..keys import STRIDED
from ..layout import broadcast_shapes, broadcast_strides, copied_strides, output_strides
from ..meta_array import contiguous_strides
from ..number_range import check_number
from ..printing_cpp import type_text
from ..spec import Spec
from ..tensor import wrap_dim
from .matmul import check_expandable
from .reduction import reduced_dims, reduced_shape

Ints = tuple[int, ...]

_MASKS = (dtypes.bool, dtypes.uint8)
_INDICES = (dtypes.int64, dtypes.int32, *_MASKS)


def _check_indices(indices: list[Any]) -> None:
    if not indices:
        raise IndexError("at least one index must be provided")
    for index in indices:
        if index is None:
            continue
        if index._dtype not in _INDICES:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if index._dtype is dtypes.uint8:
            warnings.warn(
                "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
                UserWarning,
                stacklevel=2,
            )


def _mask_shapes(self: Any, indices: list[Any]) -> list[Ints | None]:
    """Shape of each index once masks have become one index per masked dimension.

    Raises
    ------
    IndexError
        When a mask does not fit, or there are too many indices.
    """
    shapes: list[Ints | None] = []
    shape = self._array.shape
    for position, index in enumerate(indices):
        if index is None:
            shapes.append(None)
        elif index._dtype in _MASKS:
            mask = index._array.shape
            _check_mask(mask, shape, len(shapes))
            shapes.extend([(_true_count(index, position),)] * len(mask))
        else:
            shapes.append(index._array.shape)
    if len(shapes) > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)} (got {len(shapes)})")
    return shapes


def _check_mask(mask: Ints, shape: Ints, start: int) -> None:
    if shape[start : start + len(mask)] == mask:
        return
    for i, n in enumerate(mask):
        at = start + i
        if at >= len(shape) or shape[at] != n:
            raise IndexError(
                f"The shape of the mask {list(mask)} at index {i} does not match the shape of the indexed tensor "
                f"{list(shape)} at index {at}"
            )


def _true_count(mask: Any, position: int) -> int:
    if mask.is_meta:
        raise NoData("index with a mask on the meta device: the shape of the result depends on data")
    return true_count(mask)


def true_count(tensor: Any) -> int:
    """How many elements are not zero, counted by the backend where it can, else on the host."""
    backend = tensor._backend
    count = getattr(backend, "count_nonzero", None)
    return count(tensor._array) if count is not None else int(np.count_nonzero(backend.to_host(tensor._array)))


def _shape_at_one(shape: Ints, index: Any) -> Ints:
    """Shape of what one index of the first dimensions picks."""
    if index._dtype is not dtypes.bool and index._dtype is not dtypes.uint8:
        if not shape[0] and index._array.size:
            raise _nothing_to_index()
        return (*index._array.shape, *shape[1:])
    mask = index._array.shape
    _check_mask(mask, shape, 0)
    return (_true_count(index, 0), *shape[len(mask) :])


def _nothing_to_index() -> IndexError:
    return IndexError("index is out of bounds for dimension with size 0")


def indexed_shape(self: Any, indices: list[Any]) -> Ints:
    """Shape of ``self[indices]``."""
    if len(indices) == 1 and indices[0] is not None and self._array.ndim:
        return _shape_at_one(self._array.shape, indices[0])
    shapes = _mask_shapes(self, indices)
    shape = self._array.shape
    given = [s for s in shapes if s is not None]
    try:
        common = broadcast_shapes(given) if given else ()
    except RuntimeError:
        listed = ", ".join(str(list(s)) for s in given)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {listed}"
        ) from None
    positions = [i for i, s in enumerate(shapes) if s is not None]
    if 0 not in common and any(shape[i] == 0 for i in positions):
        raise _nothing_to_index()
    rest = [n for i, n in enumerate(shape) if i >= len(shapes) or shapes[i] is None]
    if not positions:
        return tuple(shape)
    adjacent = positions[-1] - positions[0] + 1 == len(positions)
    lead = positions[0] if adjacent else 0
    return (*rest[:lead], *common, *rest[lead:])


def _has_mask(self: Any, indices: list[Any], *rest: Any) -> bool:
    """Whether the shape of a result depends on how many elements of a mask are true."""
    for index in indices:
        if index is not None and index._dtype.category == 0 or index is not None and index._dtype is dtypes.uint8:
            return True
    return False


@shape_rule("index.Tensor", reads_elements=_has_mask)
def index(self: Any, indices: list[Any]) -> Spec:
    """self (*L, *I, *R), indices (*B) broadcast -> (*L, *B, *R); (*B, *L, *R) where None stands between indices."""
    _check_indices(indices)
    shape = indexed_shape(self, indices)
    given = [index for index in indices if index is not None]
    strided = self._keys & STRIDED or any(index._keys & STRIDED for index in given)
    if 0 not in shape and not strided:
        return Spec(shape, self._dtype)
    return Spec(shape, self._dtype, _indexed_strides(self, indices, shape))


def _indexed_strides(self: Any, indices: list[Any], shape: Ints) -> Ints:
    """Strides of ``self[indices]``: ordered as self orders what is not indexed, and as the indices order theirs."""
    picked: list[int] = []
    for index in indices:
        start = len(picked)
        spans = index._array.ndim if index is not None and index._dtype in _MASKS else 1
        picked.extend([index is not None] * spans if start < self._array.ndim else [])
    at = [i for i, is_picked in enumerate(picked) if is_picked]
    kept = [step for i, step in enumerate(self.stride()) if i not in at]
    lead = at[0] if at[-1] - at[0] + 1 == len(at) else 0
    width = len(shape) - len(kept)
    after = (0,) * (len(kept) - lead)
    operands = [(*kept[:lead], *(0,) * width, *kept[lead:])]
    if 0 in shape:
        return _strides_without_elements(indices, shape, operands, lead, width)
    for index in indices:
        if index is not None and index._dtype not in _MASKS:
            steps = broadcast_strides(index._array.shape, index.stride(), shape[lead : lead + width])
            operands.append((*(0,) * lead, *steps, *after))
    return output_strides(shape, operands)


def _strides_without_elements(indices: list[Any], shape: Ints, operands: list[Ints], lead: int, width: int) -> Ints:
    """As `_indexed_strides`: indices have a stride along each other dimension of size 1, too, which decides here."""
    alike = True
    for index in indices:
        if index is not None:
            sizes = index._array.shape if index._dtype not in _MASKS else shape[lead : lead + 1]
            aligned = ((1,) * (width - len(sizes)) + tuple(sizes))[-width:] if width else ()
            whole = (*(1,) * lead, *aligned, *(1,) * (len(shape) - lead - width))
            steps, alike = contiguous_strides(whole), alike and whole == shape
            operands.append(tuple(step if n == m else 0 for step, n, m in zip(steps, whole, shape, strict=True)))
    return output_strides(shape, operands, alike)


def _fills_a_mask(self: Any, indices: list[Any], values: Any, accumulate: bool) -> Any:
    """The mask that is the only index, where one value is written at it; else None."""
    if accumulate or values._array.size != 1:
        return None
    given = indices if len(indices) == 1 else [index for index in indices if index is not None]
    mask = given[0] if len(given) == 1 else None
    return mask if mask is not None and mask._dtype in _MASKS and mask._array.ndim else None


def _counts_or_converts(self: Any, indices: list[Any], values: Any, accumulate: bool) -> bool:
    """Whether elements tell if a call is right: those of masks that are counted, or of a value that is converted."""
    if _fills_a_mask(self, indices, values, accumulate) is not None:
        return values._dtype is not self._dtype
    return any(index is not None and index._dtype in _MASKS for index in indices)


@shape_rule("index_put_", reads_elements=_counts_or_converts)
def index_put_(self: Any, indices: list[Any], values: Any, accumulate: bool) -> Spec:
    """self (*), indices, values broadcast to the shape of self[indices] -> (*); none of them is written to."""
    mask = _fills_a_mask(self, indices, values, accumulate)
    if mask is not None:
        check_no_partial_overlap(self, mask)
    else:
        for tensor in (values, *indices):
            if tensor is not None:
                check_no_overlap(self, tensor)
    return _put(self, indices, values, mask)


@shape_rule("index_put", reads_elements=_counts_or_converts)
def index_put(self: Any, indices: list[Any], values: Any, accumulate: bool) -> Spec:
    """self (*), indices, values broadcast to the shape of self[indices] -> (*).

    One value at a mask is cast; others have the dtype of self.
    """
    return _put(self, indices, values, _fills_a_mask(self, indices, values, accumulate))


def _put(self: Any, indices: list[Any], values: Any, mask: Any) -> Spec:
    if mask is not None:
        # One number fits whatever the mask picks: nothing has to be counted.
        _check_mask(mask._array.shape, self._array.shape, next(i for i, index in enumerate(indices) if index is mask))
        _require_mask(mask, "masked_fill_")
        if values._dtype is not self._dtype and has_elements(values):
            check_number(values.item(), self._dtype)
        return _copied(self)
    if not indices and values._array.shape in ((), self._array.shape):
        raise RuntimeError("index_put_(): at least one index must be provided")
    if indices:
        _check_indices(indices)
    shape = values._array.shape
    target = indexed_shape(self, indices) if indices else self._array.shape
    fits = len(shape) <= len(target) and all(
        n in (1, t) for n, t in zip(reversed(shape), reversed(target), strict=False)
    )
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(shape)} cannot be broadcast to indexing result of "
            f"shape {list(target)}"
        )
    if values._dtype is not self._dtype:
        name = dtypes.scalar_type_name
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {name(self._dtype)} for the "
            "destination and "
            f"{name(values._dtype)} for the source."
        )
    return _copied(self)


def _like(self: Any) -> Spec:
    return Spec(self._array.shape, self._dtype)


def _copied(self: Any) -> Spec:
    """The tensor, with other elements: laid out as a copy of it."""
    shape = tuple(self._array.shape)
    # Row-major tensors may have any strides along dimensions of size 1, or none; a copy keeps them.
    plain = not self._keys & STRIDED and 1 not in shape and 0 not in shape
    return Spec(shape, self._dtype, None if plain else copied_strides(shape, self.stride()))


@shape_rule("index_select")
def index_select(self: Any, dim: int, index: Any) -> Spec:
    """self (*L, N, *R), index (K,) -> (*L, K, *R), at `dim`."""
    shape = self._array.shape
    at = wrap_dim(dim, len(shape))
    if index._array.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index._dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if not shape:
        if index._array.size != 1:
            raise RuntimeError(
                f"index_select(): Index to scalar can have only 1 value, got {index._array.size} value(s)"
            )
        return Spec((), self._dtype)
    return Spec((*shape[:at], index._array.size, *shape[at + 1 :]), self._dtype)


def _same_rank(name: str, self: Any, index: Any, what: str = "input") -> None:
    if max(self._array.ndim, 1) != max(index._array.ndim, 1) and index._array.size:
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {what} tensor")


def _gather_sizes(index: Any, self: Any, at: int, other: str) -> None:
    for i, (n, limit) in enumerate(zip(index._array.shape, self._array.shape, strict=False)):
        if i != at and n > limit:
            raise RuntimeError(
                f"Size does not match at dimension {i} expected index {list(index.shape)} to be no larger than "
                f"self {list(self.shape)} "
                f"apart from dimension {at}" + other
            )


@shape_rule("gather")
def gather(self: Any, dim: int, index: Any, sparse_grad: bool) -> Spec:
    """self (*S), index (*I) of the same rank -> (*I); I is at most S but along `dim`."""
    at = wrap_dim(dim, self._array.ndim)
    if index._array.size:
        if index._dtype not in (dtypes.int64, dtypes.int32):
            raise RuntimeError("gather(): Expected dtype int32/int64 for index")
        _same_rank("gather", self, index)
        _gather_sizes(index, self, at, "")
    return Spec(index._array.shape, self._dtype)


def _scatter(self: Any, dim: int, index: Any, src: Any) -> Spec:
    at = wrap_dim(dim, self._array.ndim)
    if index._array.size and index._dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    if src is not None and src._dtype is not self._dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if index._array.size:
        _same_rank("scatter", self, index, "self")
        if src is not None:
            _same_rank("scatter", src, index, "src")
            for i, n in enumerate(index._array.shape):
                too_wide = i != at and self._array.ndim and n > self._array.shape[i]
                if too_wide or src._array.ndim and n > src._array.shape[i]:
                    raise RuntimeError(
                        f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart "
                        f"from dimension {at} "
                        f"and to be no larger size than src {list(src.shape)}"
                    )
        else:
            for i, n in enumerate(index._array.shape):
                if i != at and self._array.ndim and n > self._array.shape[i]:
                    raise RuntimeError(
                        f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart "
                        f"from dimension {at}"
                    )
    return _like(self)


@shape_rule("scatter.src", "scatter_.src", "scatter_add", "scatter_add_")
def scatter_src(self: Any, dim: int, index: Any, src: Any) -> Spec:
    """self (*S), index (*I), src (at least I), of one rank -> (*S); I is at most S but along `dim`."""
    return _scatter(self, dim, index, src)


@shape_rule("scatter.value", "scatter_.value")
def scatter_value(self: Any, dim: int, index: Any, value: Any) -> Spec:
    """self (*S), index (*I) of the same rank -> (*S); I is at most S but along `dim`."""
    made = _scatter(self, dim, index, None)
    check_number(value, self._dtype)
    return made


@shape_rule("scatter_reduce.two")
def scatter_reduce(self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool) -> Spec:
    """self (*S), index (*I), src (at least I), of one rank -> (*S)."""
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError("reduce argument must be either sum, prod, mean, amax or amin, got " + reduce)
    return _scatter(self, dim, index, src)


@shape_rule("index_add", "index_add_")
def index_add(self: Any, dim: int, index: Any, source: Any, alpha: Any) -> Spec:
    """self (*L, N, *R), index (K,), source (*L, K, *R) -> (*L, N, *R), at `dim`."""
    _index_source("index_add_", self, dim, index, source)
    check_number(alpha, self._dtype)
    return _like(self)


@shape_rule("index_reduce", reads_elements=True)  # asked each time, as what it warns of may be asked for each time
def index_reduce(self: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool) -> Spec:
    """self (*L, N, *R), index (K,), source (*L, K, *R) -> (*L, N, *R), at `dim`."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    warn_once("index_reduce() is in beta and the API may change at any time.")
    _index_source("index_reduce_", self, dim, index, source)
    return _like(self)


def _index_source(name: str, self: Any, dim: int, index: Any, source: Any) -> None:
    at = wrap_dim(dim, self._array.ndim)
    if index._array.ndim > 1:
        raise IndexError(
            f"{name}(): Index is supposed to be a vector, but got dim: {index._array.ndim} with type: "
            f"{dtypes.scalar_type_name(index._dtype)} and size: {list(index.shape)}"
        )
    if index._dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(
            f"{name}(): Expected dtype int32/int64 for index but got: {dtypes.scalar_type_name(index._dtype)}"
        )
    if source._dtype is not self._dtype:
        raise RuntimeError(
            f"{name.rstrip('_')}_(): self ({dtypes.scalar_type_name(self._dtype)}) and source "
            f"({dtypes.scalar_type_name(source._dtype)}) must have the same scalar type"
        )
    rank = source._array.ndim
    if at and at >= rank:
        raise RuntimeError(f"{name}(): Indexing dim {at} is out of bounds of the source tensor with dim {rank}")
    have = source._array.shape[at] if rank else 1
    if index._array.size != have:
        source.size(at)  # PyTorch's words about the sizes ask for this one
        raise RuntimeError(
            f"{name}(): Number of indices ({index._array.size}) should be equal to source.size(dim): ({have}), "
            f"for dim: {at}"
        )
    rest = [tuple(n for i, n in enumerate(t._array.shape) if i != at) for t in (self, source)]
    if rest[0] != rest[1] or rank != self._array.ndim:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got "
            f"self.shape = {list(self.shape)} source.shape = {list(source.shape)}"
        )


@shape_rule("index_copy", "index_copy_")
def index_copy(self: Any, dim: int, index: Any, source: Any) -> Spec:
    """self (*L, N, *R), index (K,), source (*L, K, *R) -> (*L, N, *R), at `dim`."""
    at = wrap_dim(dim, self._array.ndim)
    if index._array.ndim >= 2:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index._array.ndim})")
    if source._array.ndim == 0 and index._array.size != 1:
        raise IndexError(
            f"index_copy_(): When source is scalar, index should have one element (got {index._array.size})"
        )
    if source._array.ndim and self._array.ndim and source._array.ndim != self._array.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. "
            f"Source dimensionality ({source._array.ndim}), destination dimensionality ({self._array.ndim})"
        )
    if index._dtype is not dtypes.int64:
        raise RuntimeError(
            f"index_copy_(): Expected a long tensor for index, but got {dtypes.scalar_type_name(index._dtype)}"
        )
    if source._dtype is not self._dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{dtypes.scalar_type_name(self._dtype)} and (source) {dtypes.scalar_type_name(source._dtype)}"
        )
    rest = [tuple(n for i, n in enumerate(t._array.shape) if i != at) for t in (self, source)]
    if rest[0] != rest[1]:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, rest[0]))} at dimension {at} and source slice shape: "
            f"{' '.join(map(str, rest[1]))} at dimension 0."
        )
    have = source._array.shape[at] if source._array.ndim else 1
    if index._array.size != have:
        raise IndexError(
            f"index_copy_(): Number of indices ({index._array.size}) should be equal to source.size(dim) ({have})"
        )
    return _like(self)


@shape_rule("index_fill.int_Tensor", "index_fill_.int_Tensor")
def index_fill_tensor(self: Any, dim: int, index: Any, value: Any) -> Spec:
    """self (*L, N, *R), index (K,), value () -> (*L, N, *R), at `dim`."""
    if value._array.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value._array.ndim} "
            "dimension(s)."
        )
    return index_fill(self, dim, index, 1j if value._dtype.is_complex else 0)


@shape_rule("index_fill.int_Scalar", "index_fill_.int_Scalar")
def index_fill(self: Any, dim: int, index: Any, value: Any) -> Spec:
    """self (*L, N, *R), index (K,) -> (*L, N, *R), at `dim`."""
    wrap_dim(dim, self._array.ndim)
    if index._dtype is not dtypes.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index._array.ndim > 1:
        raise IndexError("Index has to be a vector/scalar")
    if isinstance(value, complex) and not self._dtype.is_complex:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    check_number(value, self._dtype)
    return _copied(self)


def _require_mask(mask: Any, name: str) -> None:
    if mask._dtype is not dtypes.bool:
        raise RuntimeError(
            f"{name} only supports boolean masks, but got mask with dtype {dtypes.cpp_type_name(mask._dtype)}"
        )


@shape_rule("masked_fill.Scalar")
def masked_fill(self: Any, mask: Any, value: Any) -> Spec:
    """self (*), mask (*) of bool, broadcast -> the common shape."""
    _require_mask(mask, "masked_fill_")
    check_number(value, self._dtype)
    return Spec(_masked_shape(self, mask), self._dtype)


def _masked_shape(self: Any, mask: Any) -> Ints:
    """The common shape; PyTorch names the mask first where there is none."""
    return broadcast_shapes([mask._array.shape, self._array.shape])


@shape_rule("masked_fill.Tensor")
def masked_fill_tensor(self: Any, mask: Any, value: Any) -> Spec:
    """self (*), mask (*) of bool, broadcast, value () -> the common shape."""
    if value._array.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value._array.ndim} "
            "dimension(s)."
        )
    _require_mask(mask, "masked_fill_")
    if value._dtype.is_complex:
        check_number(1j, self._dtype)
    return Spec(_masked_shape(self, mask), self._dtype)


@shape_rule("masked_fill_.Scalar")
def masked_fill_in_place(self: Any, mask: Any, value: Any) -> Spec:
    """self (*), mask of bool that broadcasts to it -> self's shape."""
    _require_mask(mask, "masked_fill_")
    check_shape(self, broadcast_shapes([self._array.shape, mask._array.shape]))  # named in this order
    return masked_fill(self, mask, value)


@shape_rule("masked_fill_.Tensor")
def masked_fill_tensor_in_place(self: Any, mask: Any, value: Any) -> Spec:
    """self (*), mask of bool that broadcasts to it, value () -> self's shape."""
    if not value._array.ndim and mask._dtype is dtypes.bool:
        check_shape(self, broadcast_shapes([self._array.shape, mask._array.shape]))
    return masked_fill_tensor(self, mask, value)


def data_dependent(name: str, *tensors: Any) -> None:
    """Refuse to give a shape that depends on elements a meta tensor does not have."""
    if any(t.is_meta for t in tensors):
        raise NoData(f"{name} on the meta device: the shape of the result depends on data")


_SELECTED = Supported("masked_select", frozenset(dtypes.ALL_DTYPES) - UNSIGNED)


@shape_rule("masked_select", reads_elements=True)
def masked_select(self: Any, mask: Any) -> Spec:
    """self (*), mask (*) of bool, broadcast -> (K,), K the number of true elements."""
    if mask._dtype is not dtypes.bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    data_dependent("masked_select", self, mask)
    shape = _masked_shape(self, mask)
    repeated = math.prod(shape) // mask._array.size if mask._array.size else 0
    count = true_count(mask) * repeated
    if count:
        _SELECTED.require((), self._dtype)
    return Spec((count,), self._dtype)


@shape_rule("masked_scatter")
def masked_scatter(self: Any, mask: Any, source: Any) -> Spec:
    """self (*), mask (*) of bool, broadcast, source (at least as many elements as are true) -> the common shape."""
    _require_mask(mask, "masked_scatter_")
    if source._dtype is not self._dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got"
            f"{dtypes.scalar_type_name(self._dtype)} and {dtypes.scalar_type_name(source._dtype)}"
        )
    return Spec(_masked_shape(self, mask), self._dtype)


@shape_rule("masked_scatter_")
def masked_scatter_in_place(self: Any, mask: Any, source: Any) -> Spec:
    """self (*), mask of bool that expands to it, source -> self's shape."""
    if mask._dtype is dtypes.bool and source._dtype is self._dtype:
        check_expandable(mask, tuple(self._array.shape))
    return masked_scatter(self, mask, source)


@shape_rule("take")
def take(self: Any, index: Any) -> Spec:
    """self (any shape), index (*) into its flat elements -> (*)."""
    if index._dtype is not dtypes.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {dtypes.scalar_type_name(index._dtype)}")
    if not self._array.size and index._array.size:
        raise IndexError("take(): tried to take from an empty tensor")
    return Spec(index._array.shape, self._dtype)


@shape_rule("put", warns=True)
def put(self: Any, index: Any, source: Any, accumulate: bool) -> Spec:
    """self (*), index (*I), source (as many elements as index) -> (*)."""
    if not accumulate:
        alert_not_deterministic("put_")
    if index._dtype is not dtypes.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {dtypes.scalar_type_name(index._dtype)}")
    if source._dtype is not self._dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{dtypes.scalar_type_name(self._dtype)} and source.dtype = {dtypes.scalar_type_name(source._dtype)}"
        )
    if source._array.size != index._array.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source._array.size}, index.numel() = {index._array.size}"
        )
    if not self._array.size and index._array.size:
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    return _copied(self)


@shape_rule("nonzero", reads_elements=True)
def nonzero(self: Any) -> Spec:
    """self (*S) -> (K, len(S)) of int64, K the number of nonzero elements."""
    data_dependent("nonzero", self)
    count = true_count(self)
    return Spec((count, self._array.ndim), dtypes.int64, strides=(1, count))


@shape_rule("count_nonzero.dim_IntList", "count_nonzero")
def count_nonzero(self: Any, dim: Any) -> Spec:
    """self (*S) -> S without the counted dimensions, int64."""
    shape = self._array.shape
    return Spec(reduced_shape(shape, reduced_dims(dim, len(shape)), False), dtypes.int64)


@shape_rule("embedding")
def embedding(weight: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool, sparse: bool) -> Spec:
    """weight (V, E), indices (*) -> (*, E)."""
    if weight._array.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices._dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{type_text(indices)} instead (while checking arguments for embedding)"
        )
    return Spec((*indices._array.shape, weight._array.shape[1]), weight._dtype)


@shape_rule("embedding_dense_backward")
def embedding_dense_backward(
    grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Spec:
    """grad_output (*, E), indices (*) -> (num_weights, E)."""
    return Spec((num_weights, grad_output._array.shape[-1]), grad_output._dtype)
