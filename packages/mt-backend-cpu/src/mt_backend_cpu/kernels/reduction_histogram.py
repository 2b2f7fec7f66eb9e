"""Histograms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mt_core.checks.reduction import check_histogram_range

from ..registry import kernel

Array = np.ndarray


def _range(column: Array, d: int) -> tuple[float, float]:
    """Least and largest coordinate, apart from each other."""
    if not column.size:
        return 0.0, 1.0
    low, high = float(column.min()), float(column.max())
    check_histogram_range(low, high, d)
    return low, high


def _edges(points: Array, bins: Sequence[int], range: Any) -> list[Array]:
    result = []
    for d, count in enumerate(bins):
        low, high = _range(points[:, d], d) if range is None else (range[2 * d], range[2 * d + 1])
        if low == high:
            low, high = low - 0.5, high + 0.5
        result.append(_even_edges(low, high, count, points.dtype))
    return result


def _even_edges(low: float, high: float, count: int, dtype: np.dtype) -> Array:
    """Counted from the nearer end, so that both ends are exact."""
    first, last = np.asarray(low, dtype), np.asarray(high, dtype)
    step = (last - first) / np.asarray(count, dtype)
    position = np.arange(count + 1)
    number = position.astype(dtype)
    return np.where(position < (count + 1) // 2, first + step * number, last - step * (count - number))


def _counts(points: Array, edges: Sequence[Array], weight: Any, density: bool) -> Array:
    sizes = tuple(len(e) - 1 for e in edges)
    place = np.zeros(len(points), np.int64)
    inside = np.ones(len(points), np.bool_)
    for column, e in zip(points.T, edges, strict=True):
        index = np.searchsorted(e, column, "right") - 1
        index[column == e[-1]] = len(e) - 2
        inside &= (column >= e[0]) & (column <= e[-1])
        place = place * (len(e) - 1) + index
    weights = None if weight is None else weight.reshape(-1)[inside]
    total = np.bincount(place[inside], weights, math.prod(sizes))[: math.prod(sizes)].reshape(sizes).astype(np.float64)
    if density:
        total = _density(total, edges)
    return total.astype(points.dtype)


def _density(total: Array, edges: Sequence[Array]) -> Array:
    """Shares of the whole per volume."""
    result = total / total.sum()
    for d, e in enumerate(edges):
        width = np.diff(e).reshape([-1 if i == d else 1 for i in range(total.ndim)])
        result = result / width
    return result


@kernel("histogram.bin_ct")
def histogram(self: Array, bins: int, range: Any, weight: Any, density: bool) -> tuple[Array, Array]:
    """self (any shape), weight like it -> counts (bins,), edges (bins + 1,)."""
    points = self.reshape(-1, 1)
    edges = _edges(points, (bins,), range)
    return _counts(points, edges, weight, density), edges[0]


@kernel("histogram.bins_tensor")
def histogram_edges(self: Array, bins: Array, weight: Any, density: bool) -> tuple[Array, Array]:
    """self (any shape), bins (B + 1,), weight like self -> counts (B,), edges (B + 1,)."""
    return _counts(self.reshape(-1, 1), [bins], weight, density), bins.copy()


def _points(self: Array) -> Array:
    return self.reshape(math.prod(self.shape[:-1]), self.shape[-1])


@kernel("_histogramdd_bin_edges")
def bin_edges(self: Array, bins: Sequence[int], range: Any, weight: Any, density: bool) -> list[Array]:
    """self (*, D), weight (*) -> D tensors of edges, (bins[d] + 1,) each."""
    return _edges(_points(self), bins, range)


@kernel("_histogramdd_from_bin_tensors")
def histogramdd(self: Array, bins: list[Array], weight: Any, density: bool) -> Array:
    """self (*, D), D bins (B_d + 1,), weight (*) -> (B_1, ..., B_D)."""
    return _counts(_points(self), bins, weight, density)
