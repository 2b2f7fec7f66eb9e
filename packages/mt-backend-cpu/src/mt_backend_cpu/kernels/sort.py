"""Sorting, searching and ordered statistics over NumPy, whose order puts NaN last, as PyTorch's does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..along import reversed_along, take_along
from ..convert import cast
from ..equal_order import INSERTION, keys_of, place_of_kth, places_of_smallest, places_selected, places_sorted
from ..registry import kernel


def order_of(self: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """Stable order of a dimension, NaN the largest."""
    if not descending:
        return self.argsort(dim, "stable")
    # Reversed twice, so that equal elements keep their order.
    backwards = reversed_along(self, dim).argsort(dim, "stable")
    return np.subtract(self.shape[dim] - 1, reversed_along(backwards, dim))


def _scalar_pair(self: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return self.copy(), np.zeros((), np.int64)


@kernel("sort")
def sort(self: np.ndarray, dim: int, descending: bool) -> tuple[np.ndarray, np.ndarray]:
    """self (*) -> values (*), indices (*) of int64."""
    return sort_stable(self, False, dim, descending)


@kernel("sort.stable")
def sort_stable(self: np.ndarray, stable: Any, dim: int, descending: bool) -> tuple[np.ndarray, np.ndarray]:
    """self (*) -> values (*), indices (*) of int64."""
    if not self.ndim:
        return _scalar_pair(self)
    order = order_of(self, dim, descending)
    return with_order_of_ties(self, take_along(self, order, dim), order, stable, dim, descending)


def with_order_of_ties(
    self: np.ndarray, values: np.ndarray, order: np.ndarray, stable: Any, dim: int, descending: bool
) -> tuple[np.ndarray, np.ndarray]:
    """What is sorted, values and their stable order, with equal elements as PyTorch leaves them."""
    if stable or self.shape[dim] <= INSERTION or _sorted_by_digits(self, descending):
        return values, order
    if not _has_ties(values, dim):
        return values, order
    order = _with_ties(order, _repeated(values, dim), dim, places_sorted)
    return take_along(self, order, dim), order


def _sorted_by_digits(self: np.ndarray, descending: bool) -> bool:
    """Whether PyTorch sorts by digits, which is stable: long lines of integers."""
    return not descending and self.ndim == 1 and self.dtype.kind in "iu" and self.size >= 32768


def _has_ties(ordered: np.ndarray, dim: int) -> bool:
    """Whether elements in order along `dim` may be equal to the one before: some are, or there is a NaN."""
    behind = (slice(None),) * (dim % ordered.ndim)
    if (ordered[(*behind, slice(1, None))] == ordered[(*behind, slice(-1))]).any():
        return True
    return ordered.dtype.kind == "f" and bool(np.isnan(ordered).any())


def _repeated(ordered: np.ndarray, dim: int) -> np.ndarray:
    """Which elements, in order along `dim`, are equal to the one before; all NaNs are equal."""
    rows = np.moveaxis(ordered, dim, -1)
    repeated = np.zeros(rows.shape, np.bool_)
    np.equal(rows[..., 1:], rows[..., :-1], repeated[..., 1:])
    if ordered.dtype.kind == "f":
        nan = np.isnan(rows)
        repeated[..., 1:] |= nan[..., 1:] & nan[..., :-1]
    return np.moveaxis(repeated, -1, dim)


def _with_ties(
    order: np.ndarray, repeated: np.ndarray, dim: int, places: Callable[[np.ndarray], np.ndarray], k: int | None = None
) -> np.ndarray:
    """The order (its first k), with the rows that have equal elements among them as `places` orders their keys."""
    rows, ties = np.moveaxis(order, dim, -1), np.moveaxis(repeated, dim, -1)
    shape = rows.shape
    rows, ties = rows.reshape(-1, shape[-1]), ties.reshape(-1, shape[-1])
    tied = np.flatnonzero(ties[:, : None if k is None else k + 1].any(-1))
    result = rows[:, :k].copy()
    result[tied] = places(keys_of(rows[tied], ties[tied]))
    return np.moveaxis(result.reshape(*shape[:-1], result.shape[-1]), -1, dim)


@kernel("topk")
def topk(self: np.ndarray, k: int, dim: int, largest: bool, sorted: bool) -> tuple[np.ndarray, np.ndarray]:
    """self (*L, N, *R) -> values and indices (int64), (*L, k, *R), at `dim`."""
    if not self.ndim:
        return _scalar_pair(self)
    if not k:
        shape = [0 if i == dim % self.ndim else n for i, n in enumerate(self.shape)]
        return np.empty(shape, self.dtype), np.empty(shape, np.int64)
    dim %= self.ndim
    order = order_of(self, dim, largest)
    until = (slice(None),) * dim
    values = take_along(self, order[(*until, slice(k + 1))], dim)
    if sorted and not _has_ties(values, dim):
        return values[(*until, slice(k))], order[(*until, slice(k))]
    first = _picked(order, _repeated(take_along(self, order, dim), dim), k, dim, sorted)
    return take_along(self, first, dim), first


def _picked(order: np.ndarray, repeated: np.ndarray, k: int, dim: int, sort: bool) -> np.ndarray:
    """The first k as PyTorch picks them: by a heap where they are few, else by a selection, sorted or not."""
    few = k * 64 <= order.shape[dim]
    if few or sort:
        places = partial(places_of_smallest, k=k) if few else partial(places_selected, k=k, sort=True)
        return _with_ties(order, repeated, dim, places, k)
    rows, ties = (np.moveaxis(array, dim, -1) for array in (order, repeated))
    shape = rows.shape
    keys = keys_of(rows.reshape(-1, shape[-1]), ties.reshape(-1, shape[-1]))
    return np.moveaxis(places_selected(keys, k, False).reshape(*shape[:-1], k), -1, dim)


def _at(self: np.ndarray, index: np.ndarray, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    values = take_along(self, index, dim)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


@kernel("kthvalue")
def kthvalue(self: np.ndarray, k: int, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    """self (*S) -> values and indices (int64), S without the dimension `dim`, or 1 there with `keepdim`."""
    if not self.ndim:
        return _scalar_pair(self)
    order = order_of(self, dim, False)
    index = order.take([k - 1], dim)
    repeated = _repeated(take_along(self, order, dim), dim)
    around = np.asarray(repeated.take(range(k - 1, min(k + 1, self.shape[dim])), dim).any(dim, keepdims=True))
    if around.any():
        rows, ties, found, tied = (np.moveaxis(a, dim, -1) for a in (order, repeated, index, around))
        for row in np.ndindex(tied.shape[:-1]):
            if tied[row]:
                found[row] = place_of_kth(keys_of(rows[row][None], ties[row][None])[0], k - 1)
    return _at(self, index, dim, keepdim)


def _median_index(self: np.ndarray, dim: int, skip_nan: bool) -> np.ndarray:
    """Index of the lower middle element; of the first NaN where there is one and it counts."""
    order = order_of(self, dim, False)
    nan = np.isnan(self) if self.dtype.kind == "f" else np.zeros(self.shape, np.bool_)
    count = (
        self.shape[dim] - nan.sum(dim, keepdims=True)
        if skip_nan
        else np.full_like(nan.sum(dim, keepdims=True), self.shape[dim])
    )
    index = np.take_along_axis(order, (count - 1) // 2, dim)
    if skip_nan:
        # PyTorch selects by value and place, but NaNs are all alike.
        alike = places_selected(np.zeros((1, self.shape[dim]), np.int64), 1, False)[0, 0]
        return np.where(count == 0, alike, index)
    return np.where(nan.any(dim, keepdims=True), np.expand_dims(nan.argmax(dim), dim), index)


def _median(self: np.ndarray, skip_nan: bool) -> np.ndarray:
    if not self.size:
        if self.dtype.kind in "iu":
            return np.asarray(np.iinfo(self.dtype).min, self.dtype)
        return np.asarray(self.dtype.kind == "b" or np.nan, self.dtype)
    flat = self.reshape(-1)
    return flat[_median_index(flat, 0, skip_nan)].reshape(())


@kernel("median")
def median(self: np.ndarray) -> np.ndarray:
    """self (*) -> ()."""
    return _median(self, False)


@kernel("nanmedian")
def nanmedian(self: np.ndarray) -> np.ndarray:
    """self (*) -> ()."""
    return _median(self, True)


@kernel("median.dim")
def median_dim(self: np.ndarray, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    """self (*S) -> values and indices (int64), S without the dimension `dim`, or 1 there with `keepdim`."""
    return _at(self, _median_index(self, dim, False), dim, keepdim) if self.ndim else _scalar_pair(self)


@kernel("nanmedian.dim")
def nanmedian_dim(self: np.ndarray, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    """self (*S) -> values and indices (int64), S without the dimension `dim`, or 1 there with `keepdim`."""
    return _at(self, _median_index(self, dim, True), dim, keepdim) if self.ndim else _scalar_pair(self)


@kernel("mode")
def mode(self: np.ndarray, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    """self (*S) -> values and indices (int64), S without the dimension `dim`, or 1 there with `keepdim`."""
    if not self.ndim:
        return _scalar_pair(self)
    rows = np.moveaxis(self, dim, -1)
    order = order_of(np.ascontiguousarray(rows), -1, False)
    ordered = np.take_along_axis(rows, order, -1)
    size = rows.shape[-1]
    same = _same_as_before(ordered)
    if size > INSERTION and same.any():
        order = _with_ties(order, same, -1, places_sorted)
    if rows.dtype.kind == "f" and np.isnan(ordered[..., -1:]).any():
        order, ordered = _as_compared(np.ascontiguousarray(rows), order, ordered)
        same = _same_as_before(ordered)
    position = np.arange(size)
    start = np.maximum.accumulate(np.where(same, 0, position), -1)
    length = position - start + 1
    last = np.argmax(length, -1)[..., None]
    index = np.moveaxis(np.take_along_axis(order, last, -1), -1, dim)
    return _at(self, index, dim, keepdim)


def _same_as_before(ordered: np.ndarray) -> np.ndarray:
    """Which elements equal the one before; NaN does not."""
    return np.concatenate([np.zeros((*ordered.shape[:-1], 1), np.bool_), ordered[..., 1:] == ordered[..., :-1]], -1)


def _as_compared(rows: np.ndarray, order: np.ndarray, ordered: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Order and ordered elements where rows with NaN stand as ``<`` alone sorts them, as for PyTorch's `mode`."""
    order = order.copy()
    loose = np.isnan(ordered[..., -1])
    order[loose] = places_sorted(rows[loose].astype(np.float64))
    return order, np.take_along_axis(rows, order, -1)


def _places(row: np.ndarray, values: np.ndarray, which: Any) -> np.ndarray:
    """Where values go in a sorted row. What is not less than, or not less or equal to, a NaN goes behind it.

    PyTorch asks ``value > middle`` and ``value >= middle`` negated: NaN, in the row or sought, sends the search right.
    """
    found = np.asarray(np.searchsorted(row, values, which))
    if not _has_nan(row) and not _has_nan(values):
        return found
    return _bisected(row, values, which == "right")


def _has_nan(array: np.ndarray) -> bool:
    return array.dtype.kind == "f" and bool(np.isnan(array).any())


def _bisected(row: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray:
    """The binary search, for all values at once."""
    low, high = np.zeros(values.shape, np.int64), np.full(values.shape, row.size, np.int64)
    while (active := low < high).any():
        middle = np.minimum(low + (high - low) // 2, max(row.size - 1, 0))
        at = row[middle]
        onward = active & ~((at > values) if right else (at >= values))
        low = np.where(onward, middle + 1, low)
        high = np.where(active & ~onward, middle, high)
    return low


def _common(a: np.dtype, b: np.dtype) -> np.dtype:
    """The type that numbers of two types are compared in: floating point, whatever integers are beside it."""
    if (a.kind == "f") != (b.kind == "f"):
        return a if a.kind == "f" else b
    return np.promote_types(a, b)


@kernel("searchsorted.Tensor")
def searchsorted(
    sorted_sequence: np.ndarray, self: np.ndarray, out_int32: bool, right: bool, side: str | None, sorter: Any
) -> np.ndarray:
    """sorted_sequence (*, N) or (N,), self (*, K) -> (*, K) of int64, or int32 with `out_int32`."""
    common = _common(sorted_sequence.dtype, self.dtype)
    sorted_sequence, self = cast(sorted_sequence, common), cast(self, common)
    if sorter is not None:
        sorted_sequence = np.take_along_axis(sorted_sequence, sorter, -1)
    which = "right" if right or side == "right" else "left"
    if sorted_sequence.ndim == 1:
        return _places(sorted_sequence, self, which)
    if not self.size:
        return np.empty(self.shape, np.int64)
    rows, values = sorted_sequence.reshape(-1, sorted_sequence.shape[-1]), self.reshape(-1, self.shape[-1])
    found = [_places(row, value, which) for row, value in zip(rows, values, strict=True)]
    return np.array(found, np.int64).reshape(self.shape)


_NOTHING = np.empty(0, np.int64)


def answers(values: np.ndarray, inverse: Any, counts: Any, wants: tuple[bool, bool]) -> tuple[Any, Any, Any]:
    return values, inverse if wants[0] else _NOTHING, counts if wants[1] else _NOTHING


@kernel("_unique2", half="native")
def unique2(self: np.ndarray, sorted: bool, return_inverse: bool, return_counts: bool) -> tuple[Any, Any, Any]:
    """self (any shape S) -> values (U,), inverse (*S) and counts (U,) of int64, or (0,) for what is not wanted."""
    if not return_inverse and not return_counts:
        return _distinct(self.reshape(-1)), _NOTHING, _NOTHING
    values, inverse, counts = np.unique(self.reshape(-1), return_inverse=True, return_counts=True, equal_nan=False)
    return answers(values, inverse.reshape(self.shape), counts, (return_inverse, return_counts))


def _distinct(elements: np.ndarray) -> np.ndarray:
    """The different elements in order; every NaN is one of its own."""
    ordered = elements.copy()
    ordered.sort()
    first = np.empty(ordered.shape, np.bool_)
    first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], first[1:])
    return ordered[first]


@kernel("unique_dim", half="native")
def unique_dim(
    self: np.ndarray, dim: int, sorted: bool, return_inverse: bool, return_counts: bool
) -> tuple[Any, Any, Any]:
    """self (*L, N, *R) -> values (*L, U, *R), inverse (N,) and counts (U,) of int64, at `dim`.

    As PyTorch's kernel on the CPU, which counts and inverts whether asked or not. A slice with a NaN is equal to none.
    """
    if self.shape[dim] <= _INSERTED and (self != self).any():
        return _unique_beside_nan(self, dim)
    values, inverse, counts = np.unique(self, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    return _slice_by_slice(np.moveaxis(values, dim, 0), dim), inverse.reshape(-1), counts


def _slice_by_slice(rows: np.ndarray, dim: int) -> np.ndarray:
    """Slices in the order of the first dimension, which becomes `dim`: each lies in one piece, as PyTorch's do."""
    return np.moveaxis(np.ascontiguousarray(rows), 0, dim)


#: How many elements C++'s sort orders by insertion alone: of so few, what stands beside NaNs is as in PyTorch.
_INSERTED = 16


def _unique_beside_nan(self: np.ndarray, dim: int) -> tuple[Any, Any, Any]:
    """`unique_dim` of a few slices in the order of an insertion sort, to which a NaN is neither less nor greater."""
    rows = np.moveaxis(self, dim, 0)
    flat = rows.reshape(rows.shape[0], -1)
    order = _inserted(flat)
    same = (flat[order[1:]] == flat[order[:-1]]).all(-1)
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    inverse = np.empty(len(order), np.int64)
    inverse[order] = np.cumsum(np.concatenate([[0], ~same]))
    counts = np.diff(np.concatenate([starts, [len(order)]]))
    return np.moveaxis(rows[np.asarray(order)[starts]], 0, dim), inverse, counts


def _inserted(rows: np.ndarray) -> list[int]:
    """rows (N, E) -> their places, sorted by insertion: before the first, or behind the last that is not greater."""
    order: list[int] = []
    for row in range(len(rows)):
        at = len(order)
        if order and _precedes(rows[row], rows[order[0]]):
            at = 0
        while at > 0 and _precedes(rows[row], rows[order[at - 1]]):
            at -= 1
        order.insert(at, row)
    return order


def _precedes(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether the first pair of elements of which one is less has the less in `a`."""
    apart = np.flatnonzero((a < b) | (a > b))
    return bool(apart.size) and bool(a[apart[0]] < b[apart[0]])


@kernel("unique_consecutive", half="native")
def unique_consecutive(self: np.ndarray, return_inverse: bool, return_counts: bool, dim: Any) -> tuple[Any, Any, Any]:
    """self (any shape S) -> values (U,), inverse (*S) and counts (U,) of int64; along `dim` as `unique_dim`."""
    rows = self.reshape(-1) if dim is None else np.moveaxis(self, dim, 0)
    if not rows.shape[0]:
        return (
            (rows.copy(), np.empty(self.shape, np.int64), _NOTHING)
            if dim is None
            else (self.copy(), _NOTHING, _NOTHING)
        )
    changed = (rows[1:] != rows[:-1]).any(tuple(range(1, rows.ndim)))
    starts = np.flatnonzero(np.concatenate([[True], changed]))
    inverse = np.concatenate([[0], np.cumsum(changed)])
    counts = np.diff(np.concatenate([starts, [rows.shape[0]]]))
    if dim is not None:  # counted and inverted whether asked or not, as in `unique_dim`
        return _slice_by_slice(rows[starts], dim), inverse, counts
    return answers(rows[starts], inverse.reshape(self.shape), counts, (return_inverse, return_counts))
