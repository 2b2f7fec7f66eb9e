"""Cumulative operators and counts over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from mt_core.checks.reduction import check_bin_range, refuse_negative_counted

from ..registry import kernel
from .reduction import _widened


def _scan(self: np.ndarray, accumulate: Any, dim: int, dtype: Any) -> np.ndarray:
    array = _widened(self, dtype)
    if not array.ndim:
        return array.copy()
    if array.dtype == np.float32:
        # Rounding adds up along the way: the running value is kept in double, as PyTorch keeps it.
        return accumulate(array, dim, np.float64).astype(np.float32)
    return accumulate(array, dim)


@kernel("cumsum")
def cumsum(self: np.ndarray, dim: int, dtype: Any) -> np.ndarray:
    """self (*) -> (*); int64 for integers and bool."""
    sums = _scan(self, np.add.accumulate, dim, dtype)
    return sums + sums.dtype.type(0) if sums.dtype.kind in "fc" else sums  # they begin with 0, which is not -0


@kernel("cumprod")
def cumprod(self: np.ndarray, dim: int, dtype: Any) -> np.ndarray:
    """self (*) -> (*); int64 for integers and bool."""
    return _scan(self, np.multiply.accumulate, dim, dtype)


def _extreme_scan(self: np.ndarray, ufunc: Any, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """(extreme so far, index of its last occurrence so far)."""
    if not self.ndim or not self.size:
        return self.copy(), np.zeros(self.shape, np.int64)
    values = ufunc.accumulate(self, dim)
    shape = [1] * self.ndim
    shape[dim] = -1
    position = np.arange(self.shape[dim]).reshape(shape)
    here = self == values
    if self.dtype.kind == "f":
        here |= np.isnan(self) & np.isnan(values)
    return values, np.maximum.accumulate(np.where(here, position, 0), dim)


@kernel("cummax")
def cummax(self: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """self (*) -> values (*), indices (*) of int64."""
    return _extreme_scan(self, np.maximum, dim)


@kernel("cummin")
def cummin(self: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """self (*) -> values (*), indices (*) of int64."""
    return _extreme_scan(self, np.minimum, dim)


@kernel("logcumsumexp")
def logcumsumexp(self: np.ndarray, dim: int) -> np.ndarray:
    """self (*) -> (*)."""
    if not self.ndim:
        return self.copy()
    if self.dtype.kind != "c":
        return np.logaddexp.accumulate(self, dim)
    out = np.moveaxis(self.copy(), dim, 0)
    for i in range(1, out.shape[0]):
        out[i] = _log_add_exp(out[i - 1], out[i])
    return np.moveaxis(out, 0, dim)


def _log_add_exp(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """log(e^a + e^b); the phase goes on from that of the larger one, instead of being folded into (-pi, pi]."""
    swap = a.real < b.real
    large, small = np.where(swap, b, a), np.where(swap, a, b)
    result = large + np.log1p(np.exp(small - large))
    infinite = np.isinf(large.real) & (large.real == small.real)
    sums = np.where(large.real < 0, large, np.log(np.exp(1j * small.imag) + np.exp(1j * large.imag)) + np.inf)
    result = np.where(infinite, sums, result)
    return np.where(np.isnan(a) | np.isnan(b), np.nan + 1j * np.nan, result)


@kernel("bincount")
def bincount(self: np.ndarray, weights: Any, minlength: int) -> np.ndarray:
    """self (N,) of integers, weights (N,) -> (max(largest + 1, minlength),), known after counting."""
    if not self.size:
        return np.zeros(minlength, np.int64)
    if self.min() < 0:
        refuse_negative_counted()
    if weights is not None:
        weights = weights.real
    return np.bincount(self.astype(np.int64), weights, minlength)


@kernel("histc")
def histc(self: np.ndarray, bins: int, min: Any, max: Any) -> np.ndarray:
    """self (any shape) -> (bins,)."""
    low, high = float(min), float(max)
    if low == high and self.size:
        low, high = float(self.min()), float(self.max())
    if low == high:
        low, high = low - 1, high + 1
    check_bin_range(low, high)
    inside = self[(self >= low) & (self <= high)]
    of = inside.dtype.type
    with np.errstate(all="ignore"):
        places = (inside - of(low)) * of(bins) / (of(high) - of(low))
    if not np.isfinite(places).all():  # a range that the elements' dtype does not hold
        places = (inside.astype(np.float64) - low) * bins / (high - low)
    places = places.astype(np.int64)
    return np.bincount(np.minimum(places, bins - 1), minlength=bins).astype(self.dtype)
