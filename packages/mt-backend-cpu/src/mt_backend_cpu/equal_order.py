"""Which of equal elements comes first, where PyTorch's CPU leaves that to the algorithms of its C++ library.

`sort`, `topk`, `mode` go by ``std::sort``, ``std::nth_element`` and ``std::partial_sort`` (Musser, "Introspective
Sorting and Selection Algorithms", 1997), `kthvalue` by a quickselect with the median of three (Press et al., "Numerical
Recipes", 8.5). All of them move elements about in a way that follows from comparisons alone, which is repeated here for
all rows at once. Functions take keys (B, N), integers of which smaller ones go first and equal ones stand for equal
elements; `places_sorted` takes numbers too, of which NaN is neither less nor greater than any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["INSERTION", "keys_of", "place_of_kth", "places_of_smallest", "places_selected", "places_sorted"]

Array = np.ndarray

#: Up to this length, ``std::sort`` is an insertion sort, which is stable.
INSERTION = 16
#: Up to this length, what ``std::nth_element`` is left with is.
_SELECTED = 3
_BEYOND = np.iinfo(np.int64).max


def keys_of(order: Array, repeated: Array) -> Array:
    """(B, N) keys of elements, given their order and, in that order, which are equal to the one before."""
    keys = np.empty(order.shape, np.int64)
    np.put_along_axis(keys, order, np.cumsum(~repeated, -1), -1)
    return keys


def _laid_out(keys: Array) -> tuple[Array, Array, Array]:
    """The rows in one line, the place of each element in its row, and where the rows start."""
    rows, size = keys.shape
    return keys.reshape(-1).copy(), np.tile(np.arange(size), rows), np.arange(rows) * size


def places_sorted(keys: Array) -> Array:
    """keys (B, N) -> (B, N): places of the elements as ``std::sort`` orders them."""
    line, places, starts = _laid_out(keys)
    _sort(line, places, starts, keys.shape[1])
    return places.reshape(keys.shape)


def places_selected(keys: Array, k: int, sort: bool) -> Array:
    """keys (B, N) -> (B, k): places of the k smallest, as ``nth_element``, and ``sort`` before it, leave them."""
    line, places, starts = _laid_out(keys)
    _select(line, places, starts, keys.shape[1], k - 1)
    if sort:
        _sort(line, places, starts, k - 1)
    return places.reshape(keys.shape)[:, :k]


def places_of_smallest(keys: Array, k: int) -> Array:
    """keys (B, N) -> (B, k): places of the k smallest as ``std::partial_sort`` orders them."""
    return np.array([_smallest(row, k) for row in keys], np.int64).reshape(len(keys), k)


def _depth(size: int) -> int:
    """After how many partitions a heap takes over."""
    return 2 * (size.bit_length() - 1)


# Sorting and selecting by partitions


def _sort(line: Array, places: Array, starts: Array, size: int) -> None:
    """The first `size` elements of each row in order: parted down to short stretches, and these by insertion."""
    first, last = starts, starts + size
    for depth in range(_depth(size) if size else 0, -1, -1):
        wide = last - first > INSERTION
        first, last = first[wide], last[wide]
        if not first.size:
            break
        if not depth:
            for start, end in zip(first.tolist(), last.tolist(), strict=True):
                _sort_by_heap(line, places, start, end)
            break
        cut = _partition(line, places, first, last)
        first, last = np.concatenate([first, cut]), np.concatenate([cut, last])
    positions = starts[:, None] + np.arange(size)
    if line.dtype.kind == "f" and np.isnan(line).any():
        for start in starts.tolist():
            _insert(line[start : start + size], places[start : start + size])
        return
    _rearrange(line, places, positions, np.take_along_axis(positions, line[positions].argsort(-1, "stable"), -1))


def _insert(keys: Array, places: Array) -> None:
    """Insertion as ``std::sort`` ends with it, of keys that may be NaN, which are neither less nor greater."""
    items = list(zip(keys.tolist(), places.tolist(), strict=True))
    for i in range(1, len(items)):
        item = items[i]
        at = i
        if i < INSERTION and item[0] < items[0][0]:
            at = 0
        else:
            while at and item[0] < items[at - 1][0]:
                at -= 1
        if at < i:
            items.insert(at, items.pop(i))
    keys[:], places[:] = ([item[part] for item in items] for part in (0, 1))


def _select(line: Array, places: Array, starts: Array, size: int, nth: int) -> None:
    """The element number `nth` of each row in its place, with none greater before and none smaller behind it."""
    first, last, target = starts.copy(), starts + size, starts + nth
    for depth in range(_depth(size), -1, -1):
        wide = np.flatnonzero(last - first > _SELECTED)
        if not wide.size:
            break
        if not depth:
            for row in wide.tolist():
                _select_by_heap(line, places, int(first[row]), int(target[row]), int(last[row]))
            first[wide] = last[wide]
            break
        cut = _partition(line, places, first[wide], last[wide])
        behind = cut <= target[wide]
        first[wide[behind]], last[wide[~behind]] = cut[behind], cut[~behind]
    positions = first[:, None] + np.arange(_SELECTED)
    inside = positions < last[:, None]
    keys = np.where(inside, line[np.minimum(positions, line.size - 1)], _BEYOND)
    taken = np.take_along_axis(positions, keys.argsort(-1, "stable"), -1)
    _rearrange(line, places, positions[inside], taken[inside])


def _rearrange(line: Array, places: Array, to: Array, of: Array) -> None:
    line[to], places[to] = line[of], places[of]


def _swap(line: Array, places: Array, a: Any, b: Any) -> None:
    line[a], line[b] = line[b], line[a]
    places[a], places[b] = places[b], places[a]


def _median_to_first(line: Array, places: Array, first: Array, last: Array) -> None:
    """The median of the second element, the middle one and the last changes places with the first."""
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    x, y, z = line[a], line[b], line[c]
    rising = np.where(y < z, b, np.where(x < z, c, a))
    falling = np.where(x < z, a, np.where(y < z, c, b))
    _swap(line, places, first, np.where(x < y, rising, falling))


def _partition(line: Array, places: Array, first: Array, last: Array) -> Array:
    """Part stretches (of more than three elements) by a pivot, each from both ends; returns where they are cut.

    Searches from the left stop at what is not smaller than the pivot, searches from the right at what is not greater,
    and change places until they meet: the j-th stops from either side do.
    """
    _median_to_first(line, places, first, last)
    lengths = last - first - 1
    within = np.repeat(np.arange(first.size), lengths)
    where = np.arange(within.size) + np.repeat(first + 1 - (np.cumsum(lengths) - lengths), lengths)
    keys, pivots = line[where], line[first][within]
    left, right = np.flatnonzero(~(keys < pivots)), np.flatnonzero(~(pivots < keys))
    of = within[left]
    lefts, rights = (np.bincount(within[stops], minlength=first.size) for stops in (left, right))
    left_start, right_end = np.cumsum(lefts) - lefts, np.cumsum(rights)
    number = np.arange(left.size) - left_start[of]
    partner = right[np.maximum(right_end[of] - 1 - number, 0)]
    meet = (number < rights[of]) & (left < partner)
    _swap(line, places, where[left[meet]], where[partner[meet]])
    swaps = np.bincount(of[meet], minlength=first.size)
    next_left = _at(where, left, left_start + swaps, swaps < lefts)
    last_right = _at(where, right, right_end - swaps, swaps > 0)
    return np.minimum(next_left, last_right)


def _at(where: Array, stops: Array, number: Array, exists: Array) -> Array:
    """Positions of the stops with these numbers; beyond all where there are none."""
    found = where[stops[np.minimum(number, stops.size - 1)]]
    return np.where(exists, found, _BEYOND)


# Heaps


def _sift(heap: list[tuple[int, int]], hole: int, size: int, item: tuple[int, int]) -> None:
    """Fill a hole of a heap: greater children move up to the bottom, and the item up from there."""
    top = child = hole
    while child < (size - 1) // 2:
        child = 2 * child + 2
        if heap[child][0] < heap[child - 1][0]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * child + 1
        heap[hole] = heap[child]
        hole = child
    parent = (hole - 1) // 2
    while hole > top and heap[parent][0] < item[0]:
        heap[hole] = heap[parent]
        hole, parent = parent, (parent - 1) // 2
    heap[hole] = item


def _heap_of_smallest(keys: Array, places: Array, k: int) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
    """A heap of the k smallest, and what happened to the rest: (position, key, place) of what was put in its stead."""
    heap = list(zip(keys[:k].tolist(), places[:k].tolist(), strict=True))
    for parent in range((k - 2) // 2, -1, -1):
        _sift(heap, parent, k, heap[parent])
    thrown_out = []
    step = 1024
    for start in range(k, len(keys), step):
        chunk = keys[start : start + step]
        for i in np.flatnonzero(chunk < heap[0][0]).tolist():
            key = int(chunk[i])
            if key < heap[0][0]:
                thrown_out.append((start + i, *heap[0]))
                _sift(heap, 0, k, (key, int(places[start + i])))
    return heap, thrown_out


def _in_order(heap: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """A heap taken apart, the greatest to the end."""
    for size in range(len(heap) - 1, 0, -1):
        item, heap[size] = heap[size], heap[0]
        _sift(heap, 0, size, item)
    return heap


def _smallest(keys: Array, k: int) -> list[int]:
    heap, _ = _heap_of_smallest(keys, np.arange(len(keys)), k)
    return [place for _, place in _in_order(heap)]


def _sort_by_heap(line: Array, places: Array, start: int, end: int) -> None:
    heap, _ = _heap_of_smallest(line[start:end], places[start:end], end - start)
    line[start:end], places[start:end] = np.array(_in_order(heap)).T


def _select_by_heap(line: Array, places: Array, start: int, target: int, end: int) -> None:
    count = target + 1 - start
    heap, thrown_out = _heap_of_smallest(line[start:end], places[start:end], count)
    line[start : target + 1], places[start : target + 1] = np.array(heap).T
    for position, key, place in thrown_out:
        line[start + position], places[start + position] = key, place
    if target != start:
        _swap(line, places, np.array([start]), np.array([target]))


# Quickselect


def place_of_kth(keys: Array, k: int) -> int:
    """keys (N,) -> the place that element number k, from 0, comes from."""
    line, places = keys.copy(), np.arange(len(keys))
    left, right = 0, len(keys) - 1

    def swap(a: Any, b: Any) -> None:
        _swap(line, places, np.asarray(a), np.asarray(b))

    while right > left + 1:
        swap(left + (right - left) // 2, left + 1)
        for a, b in ((left + 1, right), (left, right), (left + 1, left)):
            if line[a] > line[b]:
                swap(a, b)
        start, end = _parted(line, left, right, swap)
        swap(left, end)
        if end <= k:
            left = start
        if end >= k:
            right = end - 1
    if right == left + 1 and line[left] > line[right]:
        swap(left, right)
    return int(places[k])


def _parted(line: Array, left: int, right: int, swap: Callable[[Any, Any], None]) -> tuple[int, int]:
    """Part a stretch whose pivot is its first element; returns where the searches from the left and the right end.

    They go on, and change places, as long as they have not passed each other.
    """
    pivot = line[left]
    lefts = np.flatnonzero(line[left + 2 : right + 1] >= pivot) + left + 2
    rights = np.flatnonzero(line[left + 1 : right] <= pivot)[::-1] + left + 1
    pairs = min(len(lefts), len(rights))
    swaps = int(np.count_nonzero(lefts[:pairs] <= rights[:pairs]))
    a, b = lefts[:swaps], rights[:swaps]
    swap(a, b)
    starts, ends = lefts[swaps : swaps + 1].tolist(), rights[swaps : swaps + 1].tolist()
    # What has changed places stops the searches as well, but for an element at which both have met.
    apart = a < b
    starts += b[apart][-1:].tolist()
    ends += a[apart][-1:].tolist()
    return min(starts), max(ends)
