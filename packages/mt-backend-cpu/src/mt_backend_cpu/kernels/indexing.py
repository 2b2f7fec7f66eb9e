"""Indexing over NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from mt_core.checks.indexing import (
    class_count,
    refuse_copied,
    refuse_flat,
    refuse_index,
    refuse_looked_up,
    refuse_picked,
    refuse_selected,
    refuse_selected_of_none,
    refuse_short_source,
)
from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import complex32, from_numpy_dtype, int64
from mt_core.number_range import check_number

from ..along import at_dim
from ..convert import cast
from ..registry import fused, kernel

_ALL = slice(None)


def _numpy_index(indices: list[Any]) -> tuple[Any, ...]:
    """The indices as NumPy takes them: None as a slice, masks as one index per masked dimension."""
    result: list[Any] = []
    for index in indices:
        if index is None:
            result.append(_ALL)
            continue
        kind = index.dtype.char
        if kind == "?" or kind == "B":
            result.extend(index.nonzero() if index.ndim else (np.zeros(int(index != 0), np.int64),))
        else:
            result.append(index)
    return tuple(result)


def _reads_nothing(self: np.ndarray, where: tuple[Any, ...]) -> bool:
    """Whether no element is looked up, as dimensions beside are empty: PyTorch does not look at the indices then."""
    return not self.size and all(self.shape[dim] for dim, index in enumerate(where) if index is not _ALL)


def _refuse_beyond(self: np.ndarray, where: tuple[Any, ...]) -> None:
    """Say which index is the first that NumPy refuses."""
    looked_up = [(self.shape[dim], index) for dim, index in enumerate(where) if index is not _ALL]
    for place, (size, index) in enumerate(looked_up):
        wrong = index[(index >= size) | (index < -size)]
        if wrong.size:
            refuse_looked_up(wrong.flat[0], place, size)


@kernel("index.Tensor", half="native")
def index(self: np.ndarray, indices: list[Any]) -> np.ndarray:
    """self (*L, *I, *R), indices (*B) broadcast -> (*L, *B, *R); (*B, *L, *R) where None stands between indices."""
    where = _numpy_index(indices)
    try:
        made = self[where]
        # NumPy gives sizes of 1 any stride.
        return made.reshape(-1).reshape(made.shape) if 1 in made.shape and made.flags.c_contiguous else made
    except IndexError as error:
        refused = error
    if _reads_nothing(self, where):
        return self[tuple(index if index is _ALL else np.zeros_like(index) for index in where)]
    _refuse_beyond(self, where)
    raise refused


_FLOAT, _COMPLEX = np.dtype(np.float32), np.dtype(np.complex64)


def _wide(d: np.dtype) -> np.dtype | None:
    """The type in which numbers of a half type are added up; None where it is the type itself."""
    if d.kind == "V":
        return _FLOAT if d.names is None else _COMPLEX
    return _FLOAT if d.char == "e" else None


def _add_at(target: np.ndarray, where: Any, values: Any) -> None:
    """target[where] += values, each occurrence counted, and the sum rounded after each."""
    if target.dtype == np.bool_:
        np.logical_or.at(target, where, values)
    elif target.dtype.names is not None:
        np.add.at(target["real"], where, values["real"])
        np.add.at(target["imag"], where, values["imag"])
    else:
        np.add.at(target, where, values)


def _sum_at(target: np.ndarray, where: Any, values: Any) -> None:
    """target[where] += values, each occurrence counted; half types are added up in float32, and rounded once."""
    wide_type = _wide(target.dtype)
    if wide_type is None:
        _add_at(target, where, values)
        return
    wide = cast(target, wide_type)
    np.add.at(wide, where, cast(values, wide_type))
    target[...] = cast(wide, target.dtype)


def _add_scaled_rows(target: np.ndarray, index: np.ndarray, rows: np.ndarray, scales: np.ndarray) -> None:
    """target[index[k]] += scales[k] * rows[k], k by k, for half types: each step is rounded, and so are the scales.

    target (N, *R), index (K,), rows (K, *R), scales (K,) or () of floating point.
    """
    wide_type = _wide(target.dtype)
    assert wide_type is not None
    scales = cast(cast(scales, target.dtype), wide_type)
    scaled = cast(rows, wide_type) * np.broadcast_to(scales, index.shape).reshape(-1, *(1,) * (rows.ndim - 1))
    for chosen in _occurrences(index):
        places = index[chosen]
        target[places] = cast(cast(target[places], wide_type) + scaled[chosen], target.dtype)


def _occurrences(index: np.ndarray) -> list[np.ndarray]:
    """Positions in `index` (K,) of the first occurrence of each number, then of the second where there is one, ..."""
    order = np.argsort(index, kind="stable")
    numbers = index[order]
    begins = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))[: index.size]
    rank = np.arange(index.size) - np.repeat(begins, np.diff(np.append(begins, index.size)))
    by_rank = order[np.argsort(rank, kind="stable")]
    return np.split(by_rank, np.cumsum(np.bincount(rank))[:-1]) if index.size else []


@kernel("index_put", half="native")
def index_put(self: np.ndarray, indices: list[Any], values: np.ndarray, accumulate: bool) -> np.ndarray:
    """self (*), indices, values broadcast to the shape of self[indices] -> (*)."""
    return index_put_(self.copy(), indices, values, accumulate)


@kernel("index_put_", half="native")
def index_put_(self: np.ndarray, indices: list[Any], values: np.ndarray, accumulate: bool) -> np.ndarray:
    """self (*), indices, values broadcast to the shape of self[indices] -> (*); written into self."""
    if values.size == 1 and not accumulate and (mask := _only_mask(indices, self.ndim)) is not None:
        np.copyto(self, cast(values, self.dtype).reshape(()), where=mask)
        return self
    where = _numpy_index(indices)
    try:
        if accumulate:
            _add_at(self, where, values)
        else:
            self[where] = values
        return self
    except IndexError as error:
        refused = error
    if _reads_nothing(self, where):
        return self
    _refuse_beyond(self, where)
    raise refused


def _only_mask(indices: list[Any], ndim: int) -> np.ndarray | None:
    """The mask that is the only index, shaped to broadcast with what is indexed; None where there are others."""
    at = next((i for i, index in enumerate(indices) if index is not None), 0)
    mask = indices[at]
    if mask is None or mask.dtype.char != "?" or not mask.ndim or any(index is not None for index in indices[at + 1 :]):
        return None
    return mask.reshape(mask.shape + (1,) * (ndim - at - mask.ndim))


#: Integer type -> the unsigned type of its size, in which a negative number is greater than every size.
_UNSIGNED = {"B": np.uint8, "b": np.uint8, "h": np.uint16, "i": np.uint32, "l": np.uint64, "q": np.uint64}


def within(index: np.ndarray, size: int) -> bool:
    """Whether all elements lie in 0..size - 1."""
    return not index.size or bool(np.maximum.reduce(index.view(_UNSIGNED[index.dtype.char]), None) < size)


def _within_counted_back(index: np.ndarray, size: int) -> bool:
    """Whether all elements lie in -size..size - 1."""
    return within(index, size) or bool(index.min() >= -size and index.max() < size)


def _first(index: np.ndarray, least: int, size: int) -> int:
    """The first element outside of least..size - 1."""
    return int(index[(index < least) | (index >= size)].flat[0])


@kernel("index_select", half="native")
def index_select(self: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    """self (*L, N, *R), index (K,) -> (*L, K, *R), at `dim`."""
    if not self.ndim:
        if not within(index, 1):
            refuse_selected()
        return self.copy()
    if not within(index, self.shape[dim]):
        if self.ndim > 1 and (not self.size or dim % self.ndim == 1):
            refuse_selected_of_none(_first(index, 0, self.shape[dim]), self.shape[dim])
        refuse_selected()
    return self.take(index.reshape(-1), dim)


def _one_dim(array: np.ndarray) -> np.ndarray:
    """A 0-dim operand as a 1-d one."""
    return array if array.ndim else array.reshape(1)


def _bounded(index: np.ndarray, size: int, dim: int) -> None:
    if not within(index, size):
        refuse_picked(_first(index, 0, size), dim, size)


@kernel("gather", half="native")
def gather(self: np.ndarray, dim: int, index: np.ndarray, sparse_grad: bool) -> np.ndarray:
    """self (*S), index (*I) of the same rank -> (*I); I is at most S but along `dim`."""
    if not index.size:
        return np.empty(index.shape, self.dtype)
    source, where = _one_dim(self), _one_dim(index)
    dim %= source.ndim
    _bounded(where, source.shape[dim], dim)
    return source[at_dim(where, dim)].reshape(index.shape)


def _target(self: np.ndarray, dim: int, index: np.ndarray) -> tuple[np.ndarray, tuple[Any, ...]]:
    """(what is written to, with at least 1 dimension; where)."""
    target, where = _one_dim(self), _one_dim(index)
    dim %= target.ndim
    _bounded(where, target.shape[dim], dim)
    return target, at_dim(where, dim)


def _source(src: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The part of src that the index covers."""
    src = _one_dim(src)
    shape = index.shape or (1,)
    return src if src.shape == shape else src[tuple([slice(n) for n in shape])]


def _apart(array: np.ndarray, written: np.ndarray) -> np.ndarray:
    """An array that stays as it is while another is written."""
    if array.base is None and written.base is None and array is not written:
        return array
    return array.copy() if np.may_share_memory(array, written) else array


def number_of(value: Any, d: np.dtype) -> Any:
    """A number that NumPy stores as PyTorch casts it: around the range of an integer type, not at its ends."""
    return value if value.__class__ is float and d.kind == "f" else cast(np.asarray(value), d)


def _in_a_row(target: np.ndarray, where: Any, values: Any) -> tuple[np.ndarray, Any, Any]:
    """The same places of the same array in one dimension, in which NumPy adds several times faster.

    `where` is an index of each dimension, known to lie within it, from the front; the array is as it is where
    its elements are not in row-major order.
    """
    if target.ndim < 2 or not target.flags.c_contiguous:
        return target, where, values
    place, step = where[-1].astype(np.intp, copy=False), 1
    for index, size in zip(where[-2::-1], target.shape[:0:-1]):
        step *= size
        place = place + index.astype(np.intp, copy=False) * step
    return target.reshape(-1), place.reshape(-1), np.broadcast_to(values, place.shape).reshape(-1)


@kernel("scatter_.src", half="native")
def scatter_(self: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray) -> np.ndarray:
    """self (*S), index (*I), src (at least I), of one rank -> self, written into; I is at most S but along `dim`."""
    if index.size:
        target, where = _target(self, dim, _apart(index, self))
        target[where] = _source(_apart(src, self), index)
    return self


@kernel("scatter_.value", half="native")
def scatter_value_(self: np.ndarray, dim: int, index: np.ndarray, value: Any) -> np.ndarray:
    """self (*S), index (*I) of the same rank -> (*S); I is at most S but along `dim`; written into self."""
    if index.size:
        target, where = _target(self, dim, _apart(index, self))
        target[where] = number_of(value, self.dtype)
    return self


@kernel("scatter_add_", half="native")
def scatter_add_(self: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray) -> np.ndarray:
    """self (*S), index (*I), src (at least I), of one rank -> self, written into; I is at most S but along `dim`."""
    if index.size:
        target, where = _target(self, dim, _apart(index, self))
        _sum_at(*_in_a_row(target, where, _source(_apart(src, self), index)))
    return self


@kernel("scatter.src", half="native")
def scatter(self: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray) -> np.ndarray:
    """self (*S), index (*I), src (at least I), of one rank -> (*S); I is at most S but along `dim`."""
    return scatter_(self.copy(), dim, index, src)


@kernel("scatter.value", half="native")
def scatter_value(self: np.ndarray, dim: int, index: np.ndarray, value: Any) -> np.ndarray:
    """self (*S), index (*I) of the same rank -> (*S); I is at most S but along `dim`."""
    return scatter_value_(self.copy(), dim, index, value)


@kernel("scatter_add", half="native")
def scatter_add(self: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray) -> np.ndarray:
    """self (*S), index (*I), src (at least I), of one rank -> (*S); I is at most S but along `dim`."""
    return scatter_add_(self.copy(), dim, index, src)


_COMBINE = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _neutral(reduce: str, dtype: np.dtype) -> Any:
    """The value that changes nothing when combined."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.kind in "fV":
        return -np.inf if reduce == "amax" else np.inf
    if dtype.kind == "b":
        return reduce == "amin"
    info = np.iinfo(dtype)
    return info.min if reduce == "amax" else info.max


#: The same for booleans.
_COMBINE_BOOL = {
    "sum": np.logical_or,
    "mean": np.logical_or,
    "prod": np.logical_and,
    "amax": np.logical_or,
    "amin": np.logical_and,
}


def _combine_at(target: np.ndarray, where: Any, values: Any, reduce: str, include_self: bool) -> None:
    """target[where] = reduce(target[where], values), occurrence by occurrence, rounded after each; sums for means."""
    if not include_self:
        target[where] = _neutral(reduce, target.dtype)
    combine: Any = (_COMBINE_BOOL if target.dtype == np.bool_ else _COMBINE)[reduce]
    combine.at(target, where, values)


def _divide_by_counts(
    target: np.ndarray, where: Any, values: np.ndarray, include_self: bool, add: Callable[..., None]
) -> None:
    """target /= how many values its elements were summed of, counted in its own type by `add`, as in PyTorch."""
    counts = np.full(target.shape, int(include_self)).astype(target.dtype)
    add(counts, where, np.ones_like(values))
    counts[counts == 0] = 1
    if target.dtype.kind in "iu":
        np.floor_divide(target, counts, target)
    else:
        np.divide(target, counts, target)


@kernel("scatter_reduce.two", half="native")
def scatter_reduce(
    self: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray, reduce: str, include_self: bool
) -> np.ndarray:
    """self (*S), index (*I), src (at least I), of one rank -> (*S); half types are combined in float32."""
    out = self.copy()
    if not index.size:
        return out
    target, where = _target(out, dim, index)
    wide_type = _wide(self.dtype) or self.dtype
    wide, values = cast(target, wide_type), _source(src, index)
    _combine_at(wide, where, cast(values, wide_type), reduce, include_self)
    target[...] = cast(wide, self.dtype)
    if reduce == "mean":
        _divide_by_counts(target, where, values, include_self, _sum_at)
    return out


def _slices(
    self: np.ndarray, dim: int, index: np.ndarray, refuse: Callable[[int, int, int], NoReturn] | None = None
) -> tuple[np.ndarray, Any]:
    """(what is written to, with at least 1 dimension; where)."""
    target = _one_dim(self)
    dim %= target.ndim
    size = target.shape[dim]
    if target.size and not within(index, size):
        if refuse is None:
            refuse_selected()
        refuse(_first(index, 0, size), dim, size)
    return target, (*(_ALL,) * dim, index.reshape(-1))


def _counted_back(self: np.ndarray, dim: int, index: np.ndarray) -> tuple[np.ndarray, Any]:
    """The same for indices that may count from the end."""
    target = _one_dim(self)
    dim %= target.ndim
    size = target.shape[dim]
    if not _within_counted_back(index, size):
        refuse_index(_first(index, -size, size), dim, size)
    return target, (*(_ALL,) * dim, index.reshape(-1))


def _summed_in_steps(self: np.ndarray, dim: int, index: np.ndarray, alpha: Any) -> bool:
    """Whether PyTorch rounds the sums of half types after each step: not where it hands over to scatter_add."""
    outermost = self.ndim > 1 and dim % self.ndim in (0, self.ndim - 1)
    return not outermost or alpha != 1 or index.dtype != np.int64


def _refusal(self: np.ndarray, dim: int, index: np.ndarray, alpha: Any) -> Callable[[int, int, int], NoReturn] | None:
    """What refuses an index of `index_add`: scatter_add, where PyTorch hands over to it."""
    return None if _summed_in_steps(self, dim, index, alpha) else refuse_picked


def _add_half(self: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, alpha: Any) -> None:
    """index_add_ of half types, where self is not empty and the indices are within it."""
    target, where = _slices(self, dim, index, _refusal(self, dim, index, alpha))
    if not _summed_in_steps(self, dim, index, alpha):
        _sum_at(target, where, source)
    elif alpha == 1:
        _add_at(target, where, source)
    elif target.ndim > 1:
        _add_scaled_rows(np.moveaxis(target, dim, 0), index.reshape(-1), np.moveaxis(source, dim, 0), np.asarray(alpha))
    else:
        # Of one dimension, PyTorch rounds the products, too.
        wide_type = _wide(self.dtype) or self.dtype
        factor = cast(cast(np.asarray(alpha), self.dtype), wide_type)
        _add_at(target, where, cast(cast(source, wide_type) * factor, self.dtype))


@kernel("index_add_", half="native")
def index_add_(self: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, alpha: Any) -> np.ndarray:
    """self (*L, N, *R), index (K,), source (*L, K, *R) -> (*L, N, *R), at `dim`; written into self."""
    if not self.size:
        if self.ndim == 1 and index.size:
            refuse_selected()
        return self
    index, source = _apart(index, self), _one_dim(_apart(source, self))
    if _wide(self.dtype) is not None:
        _add_half(self, dim, index, source, alpha)
        return self
    target, where = _slices(self, dim, index, _refusal(self, dim, index, alpha))
    _add_at(target, where, source if alpha == 1 else source * cast(np.asarray(alpha), source.dtype))
    return self


@kernel("index_add", half="native")
def index_add(self: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, alpha: Any) -> np.ndarray:
    """self (*L, N, *R), index (K,), source (*L, K, *R) -> (*L, N, *R), at `dim`."""
    return index_add_(self.copy(), dim, index, source, alpha)


@kernel("index_reduce", half="native")
def index_reduce(
    self: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, reduce: str, include_self: bool
) -> np.ndarray:
    """self (*L, N, *R), index (K,), source (*L, K, *R) -> (*L, N, *R), at `dim`."""
    if self.dtype.names is not None:
        wide = index_reduce(cast(self, _COMPLEX), dim, index, cast(source, _COMPLEX), reduce, include_self)
        return cast(wide, self.dtype)
    out, source = self.copy(), _one_dim(source)
    target, where = _slices(out, dim, index)
    _combine_at(target, where, source, reduce, include_self)
    if reduce == "mean":
        add = _add_at if _summed_in_steps(self, dim, index, 1) else _sum_at
        _divide_by_counts(target, where, source, include_self, add)
    return out


@kernel("index_copy_", half="native")
def index_copy_(self: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """self (*L, N, *R), index (K,), source (*L, K, *R) -> (*L, N, *R), at `dim`; written into self."""
    target, where = _slices(self, dim, _apart(index, self), refuse=refuse_copied)
    target[where] = _one_dim(_apart(source, self))
    return self


@kernel("index_copy", half="native")
def index_copy(self: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """self (*L, N, *R), index (K,), source (*L, K, *R) -> (*L, N, *R), at `dim`."""
    return index_copy_(self.copy(), dim, index, source)


def _has_rows(self: np.ndarray, dim: int) -> bool:
    """Whether what an index names along a dimension has elements; where not, PyTorch looks at no index."""
    return not self.ndim or 0 not in (*self.shape[: dim % self.ndim], *self.shape[dim % self.ndim + 1 :])


@kernel("index_fill_.int_Scalar", half="native")
def index_fill_(self: np.ndarray, dim: int, index: np.ndarray, value: Any) -> np.ndarray:
    """self (*L, N, *R), index (K,) -> (*L, N, *R), at `dim`; written into self."""
    number = number_of(value, self.dtype)
    if _has_rows(self, dim):
        target, where = _counted_back(self, dim, _apart(index, self))
        target[where] = number
    return self


@kernel("index_fill.int_Scalar", half="native")
def index_fill(self: np.ndarray, dim: int, index: np.ndarray, value: Any) -> np.ndarray:
    """self (*L, N, *R), index (K,) -> (*L, N, *R), at `dim`."""
    return index_fill_(self.copy(), dim, index, value)


def _only_element(value: np.ndarray, target: np.dtype) -> np.ndarray:
    """value () in another dtype, which must hold it as it must hold a Python number."""
    if value.dtype != target:
        kind = "c" if value.dtype.names else value.dtype.kind
        exact = value if kind in "biu" else cast(value, np.dtype(np.complex128 if kind == "c" else np.float64))
        check_number(exact.item(), complex32 if target.names else from_numpy_dtype(target))
    return cast(value, target)


@kernel("index_fill_.int_Tensor", half="native")
def index_fill_tensor_(self: np.ndarray, dim: int, index: np.ndarray, value: np.ndarray) -> np.ndarray:
    """self (*L, N, *R), index (K,), value () -> (*L, N, *R), at `dim`; written into self."""
    number = _only_element(value, self.dtype)
    if _has_rows(self, dim):
        target, where = _counted_back(self, dim, _apart(index, self))
        target[where] = number
    return self


@kernel("index_fill.int_Tensor", half="native")
def index_fill_tensor(self: np.ndarray, dim: int, index: np.ndarray, value: np.ndarray) -> np.ndarray:
    """self (*L, N, *R), index (K,), value () -> (*L, N, *R), at `dim`."""
    return index_fill_tensor_(self.copy(), dim, index, value)


@kernel("masked_fill_.Scalar", half="native")
def masked_fill_(self: np.ndarray, mask: np.ndarray, value: Any) -> np.ndarray:
    """self (*S), mask (*) of bool, broadcast to S -> (*S); written into self."""
    np.copyto(self, number_of(value, self.dtype), where=mask)
    return self


@kernel("masked_fill_.Tensor", half="native")
def masked_fill_tensor_(self: np.ndarray, mask: np.ndarray, value: np.ndarray) -> np.ndarray:
    """self (*S), mask (*) of bool, broadcast to S, value () -> (*S); written into self."""
    np.copyto(self, _only_element(value, self.dtype), where=mask)
    return self


@kernel("masked_fill.Scalar", half="native")
def masked_fill(self: np.ndarray, mask: np.ndarray, value: Any) -> np.ndarray:
    """self (*), mask (*) of bool, broadcast -> the common shape."""
    return np.where(mask, np.asarray(number_of(value, self.dtype), self.dtype), self)


@kernel("masked_fill.Tensor", half="native")
def masked_fill_tensor(self: np.ndarray, mask: np.ndarray, value: np.ndarray) -> np.ndarray:
    """self (*), mask (*) of bool, broadcast, value () -> the common shape."""
    return np.where(mask, _only_element(value, self.dtype), self)


@kernel("masked_select", half="native")
def masked_select(self: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """self (*), mask (*) of bool, broadcast -> (K,), K the number of true elements."""
    self, mask = np.broadcast_arrays(self, mask)
    return self[mask]


@kernel("masked_scatter", half="native")
def masked_scatter(self: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    """self (*), mask (*) of bool, broadcast, source (at least as many elements as are true) -> the common shape."""
    self, mask = np.broadcast_arrays(self, mask)
    return masked_scatter_(self.copy(), mask, source)


@kernel("masked_scatter_", half="native")
def masked_scatter_(self: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    """self (*), mask (*) of bool, broadcast to it, source (at least as many elements as are true) -> (*), in place.

    A row-major source on the memory of `self` is read while it is written, one element after the other.
    """
    mask = np.broadcast_to(mask, self.shape)
    count = int(np.count_nonzero(mask))
    if count > source.size:
        refuse_short_source()
    given = np.ascontiguousarray(source).reshape(-1)[:count]
    if source.flags.c_contiguous and np.may_share_memory(self, source):
        for place, number in zip(np.argwhere(mask), range(count), strict=True):
            self[tuple(place)] = given[number]
    else:
        self[mask] = given
    return self


def _flat_index(self: np.ndarray, index: np.ndarray) -> np.ndarray:
    if not _within_counted_back(index, self.size):
        refuse_flat(_first(index, -self.size, self.size), self.size)
    return index


@kernel("take", half="native")
def take(self: np.ndarray, index: np.ndarray) -> np.ndarray:
    """self (any shape), index (*) into its flat elements -> (*)."""
    return self.reshape(-1)[_flat_index(self, index)]


@kernel("put", half="native")
def put(self: np.ndarray, index: np.ndarray, source: np.ndarray, accumulate: bool) -> np.ndarray:
    """self (*), index (*I), source (as many elements as index) -> (*)."""
    out = np.ascontiguousarray(self).copy()
    where = _flat_index(self, index).reshape(-1)
    flat = out.reshape(-1)
    if accumulate:
        _add_at(flat, where, source.reshape(-1))
    else:
        flat[where] = source.reshape(-1)
    return out.reshape(self.shape)


@kernel("nonzero", half="native")
def nonzero(self: np.ndarray) -> np.ndarray:
    """self (*S) -> (K, len(S)) of int64, K the number of nonzero elements."""
    if not self.ndim:
        return np.empty((int(bool(self)), 0), np.int64)
    found = self.nonzero()
    places = np.empty((self.ndim, found[0].size), np.int64)
    for dim, index in enumerate(found):
        places[dim] = index
    return places.T


@kernel("count_nonzero.dim_IntList", "count_nonzero", half="native")
def count_nonzero(self: np.ndarray, dim: Any) -> Any:
    """self (*S) -> S without the counted dimensions, int64."""
    axes = dim if isinstance(dim, int) else tuple(dim or ()) or None
    if self.dtype.names is not None:
        self = cast(self, _COMPLEX)
    return np.asarray(np.count_nonzero(self, axis=axes if self.ndim else None))


@kernel("embedding", half="native")
def embedding(
    weight: np.ndarray, indices: np.ndarray, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> np.ndarray:
    """weight (V, E), indices (*) -> (*, E)."""
    if not within(indices, weight.shape[0]):
        if not weight.size:
            refuse_selected_of_none(_first(indices, 0, weight.shape[0]), weight.shape[0])
        refuse_selected()
    return weight.take(indices, 0)


@kernel("embedding_dense_backward", half="native")
def embedding_dense_backward(
    grad_output: np.ndarray, indices: np.ndarray, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> np.ndarray:
    """grad_output (*, E), indices (*) -> (num_weights, E)."""
    rows = indices.reshape(-1)
    grads = grad_output.reshape(rows.size, grad_output.shape[-1])
    if padding_idx >= 0:
        kept = rows != padding_idx
        rows, grads = rows[kept], grads[kept]
    out = np.zeros((num_weights, grads.shape[1]), grads.dtype)
    counts = np.bincount(rows, minlength=num_weights)[rows] if scale_grad_by_freq else None
    if _wide(out.dtype) is not None:
        _add_scaled_rows(out, rows, grads, np.asarray(1.0) if counts is None else 1 / counts)
    else:
        add_rows(out, rows, grads if counts is None else grads / counts[:, None].astype(grads.dtype))
    return out


def add_rows(out: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """out[rows[i]] += values[i]: sorted, so that equal rows are summed by one reduction instead of one by one."""
    if not rows.size:
        return
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    out[ordered[starts]] += np.add.reduceat(values[order], starts, 0, dtype=values.dtype)


@fused("one_hot", Accepts(dtypes=(int64,), also=lambda self, num_classes: self._array.size > 0))
def one_hot(self: np.ndarray, num_classes: int) -> np.ndarray:
    """self (*) of int64 -> (*, num_classes)."""
    least, greatest = int(np.minimum.reduce(self, None)), int(np.maximum.reduce(self, None))
    classes = class_count(least, greatest, num_classes)
    out = np.zeros((self.size, classes), np.int64)
    out[np.arange(self.size), self.reshape(-1)] = 1
    return out.reshape(*self.shape, classes)
