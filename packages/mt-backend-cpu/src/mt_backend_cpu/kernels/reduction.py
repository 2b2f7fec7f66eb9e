"""Reductions over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from mt_core.checks.reduction import warn_of_freedom
from mt_core.dispatch.kernel import Accepts

from ..along import take_along
from ..registry import FLOATS, kernel

#: Rows added up naively before partial sums are combined; NumPy itself adds pairwise only along the last axis.
_BLOCK = 128


_add_reduce = np.add.reduce


def extent(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """How many elements are reduced to one."""
    count = 1
    for axis in axes:
        count *= shape[axis]
    return count


def _before_trailing(axes: tuple[int, ...], ndim: int) -> int:
    """How many of the sorted axes come before those that are an array's last dimensions without a gap."""
    cut = len(axes)
    while cut and axes[cut - 1] == ndim - 1:
        cut -= 1
        ndim -= 1
    return cut


def accurate_sum(array: np.ndarray, axes: tuple[int, ...], dtype: Any = None, keepdim: bool = False) -> Any:
    """Sum over axes whose rounding error grows with the logarithm of the count, on every axis.

    `axes` are sorted. NumPy's `add.reduce` is pairwise along a contiguous last axis and naive along all others (over
    1M x 2 float32 elements, axis 0, it is 100 times less accurate): long leading axes are summed in blocks, and the
    blocks in blocks.
    """
    if dtype is not None or array.dtype.kind not in "fc":
        return _add_reduce(array, axes, dtype, None, keepdim)
    cut = _before_trailing(axes, array.ndim)
    inner, outer = axes[cut:], axes[:cut]
    if inner and not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    partial = _add_reduce(array, inner, None, None, keepdim) if inner else array
    if not outer:
        return partial if inner else array.copy()
    if extent(array.shape, outer) <= _BLOCK:
        return _add_reduce(partial, outer, None, None, keepdim)
    summed = _sum_rows(_as_rows(partial, outer))
    return _keep(summed, partial, outer, keepdim)


def _as_rows(array: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """The array with some dimensions joined to one, the first."""
    kept = [a for a in range(array.ndim) if a not in axes]
    return array.transpose([*axes, *kept]).reshape(-1, *[array.shape[a] for a in kept])


def _sum_rows(rows: np.ndarray) -> np.ndarray:
    while rows.shape[0] > _BLOCK:
        whole = rows.shape[0] // _BLOCK * _BLOCK
        blocks = np.add.reduce(rows[:whole].reshape(-1, _BLOCK, *rows.shape[1:]), 1)
        rest = rows[whole:]
        rows = np.concatenate([blocks, np.add.reduce(rest, 0)[None]]) if rest.size else blocks
    return np.add.reduce(rows, 0)


def _keep(array: Any, like: np.ndarray, axes: tuple[int, ...], keepdim: bool) -> Any:
    if not keepdim:
        return array
    return array.reshape([1 if i in axes else n for i, n in enumerate(like.shape)])


def _widened(self: np.ndarray, dtype: Any) -> np.ndarray:
    """The input in the type that sums are computed in: int64 for integers, else the requested type."""
    if dtype is not None:
        wanted = dtype.compute.numpy_dtype
        return (
            self
            if self.dtype == wanted
            else self.astype(wanted)
            if self.dtype.kind != "c" or wanted.kind == "c"
            else self.real.astype(wanted)
        )
    return self.astype(np.int64) if self.dtype.kind in "iub" else self


#: Floats row by row, added up in their own dtype: NumPy is pairwise over the whole, and along the last dimension.
_PAIRWISE = {"dtypes": FLOATS, "layout": "row_major", "defaults": ("dtype",)}


@kernel("sum")
def sum_all(self: np.ndarray, dtype: Any) -> Any:
    """self (*) -> (); int64 for integers and bool."""
    return accurate_sum(_widened(self, dtype), tuple(range(self.ndim)))


@kernel("sum", accepts=Accepts(**_PAIRWISE))
def sum_pairwise(self: np.ndarray) -> Any:
    """self (*) -> (); int64 for integers and bool."""
    return _add_reduce(self, None)


@kernel("sum.dim_IntList")
def sum_dims(self: np.ndarray, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; int64 for integers and bool."""
    return accurate_sum(_widened(self, dtype), dim, None, keepdim)


def _is_last(self: Any, dim: Any, keepdim: bool, dtype: Any) -> bool:
    """Whether a reduction is along the last dimension alone."""
    ndim = self._array.ndim
    return bool(ndim) and dim is not None and tuple(dim) in ((-1,), (ndim - 1,))


@kernel("sum.dim_IntList", accepts=Accepts(**_PAIRWISE, also=_is_last))
def sum_rows(self: np.ndarray, dim: Any, keepdim: bool) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; int64 for integers and bool."""
    return _add_reduce(self, -1, None, None, keepdim)


@kernel("mean")
def mean_all(self: np.ndarray, dtype: Any) -> Any:
    """self (*) -> ()."""
    return mean_dims(self, tuple(range(self.ndim)), False, dtype)


@kernel("mean.dim")
def mean_dims(self: np.ndarray, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`."""
    array = _widened(self, dtype)
    return np.true_divide(accurate_sum(array, dim, None, keepdim), array.dtype.type(extent(self.shape, dim)))


@kernel("mean.dim", accepts=Accepts(**_PAIRWISE, also=_is_last))
def mean_rows(self: np.ndarray, dim: Any, keepdim: bool) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`."""
    total = _add_reduce(self, -1, None, None, keepdim)
    return (
        np.true_divide(total, self.shape[-1])
        if total.__class__ is not np.ndarray
        else np.true_divide(total, self.shape[-1], total)
    )


@kernel("prod")
def prod_all(self: np.ndarray, dtype: Any) -> Any:
    """self (*) -> (); int64 for integers and bool."""
    return np.multiply.reduce(_widened(self, dtype), None)


@kernel("prod.dim_int")
def prod_dim(self: np.ndarray, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; int64 for integers and bool."""
    return _keep(np.multiply.reduce(_widened(self, dtype), dim), self, dim, keepdim)


_largest, _smallest = np.maximum.reduce, np.minimum.reduce


@kernel("amax")
def amax(self: np.ndarray, dim: Any, keepdim: bool) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`."""
    return _largest(self, dim, None, None, keepdim)


@kernel("amin")
def amin(self: np.ndarray, dim: Any, keepdim: bool) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`."""
    return _smallest(self, dim, None, None, keepdim)


@kernel("max")
def max_all(self: np.ndarray) -> Any:
    """self (*) with at least one element -> ()."""
    return np.maximum.reduce(self, None)


@kernel("min")
def min_all(self: np.ndarray) -> Any:
    """self (*) with at least one element -> ()."""
    return np.minimum.reduce(self, None)


def _with_index(array: np.ndarray, index: np.ndarray, dim: int, keepdim: bool) -> tuple[Any, Any]:
    if not array.ndim:
        return array.copy(), np.zeros((), np.int64)
    shape = list(array.shape)
    shape[dim] = 1
    at = index.reshape(shape)
    values = take_along(array, at, dim)
    return (values, at) if keepdim else (values.reshape(index.shape), index)


@kernel("max.dim")
def max_dim(self: np.ndarray, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """self (*S) -> values and indices (int64), S without the dimension `dim`, or 1 there with `keepdim`."""
    return _with_index(self, self.argmax(dim) if self.ndim else np.zeros((), np.int64), dim, keepdim)


@kernel("min.dim")
def min_dim(self: np.ndarray, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """self (*S) -> values and indices (int64), S without the dimension `dim`, or 1 there with `keepdim`."""
    return _with_index(self, self.argmin(dim) if self.ndim else np.zeros((), np.int64), dim, keepdim)


def _arg(self: np.ndarray, find: Any, dim: int | None, keepdim: bool) -> Any:
    if dim is None or not self.ndim:
        found = np.asarray(find(self.reshape(-1)))
        return found.reshape((1,) * self.ndim) if keepdim else found
    found = find(self, dim)
    return _keep(found, self, (dim % self.ndim,), keepdim)


@kernel("argmax")
def argmax(self: np.ndarray, dim: int | None, keepdim: bool) -> Any:
    """self (*S) -> S without the dimension `dim` (() for None), or 1 there with `keepdim`; int64."""
    return _arg(self, np.ndarray.argmax, dim, keepdim)


@kernel("argmin")
def argmin(self: np.ndarray, dim: int | None, keepdim: bool) -> Any:
    """self (*S) -> S without the dimension `dim` (() for None), or 1 there with `keepdim`; int64."""
    return _arg(self, np.ndarray.argmin, dim, keepdim)


@kernel("any")
def any_all(self: np.ndarray) -> Any:
    """self (*) -> () of bool; uint8 for uint8."""
    return np.logical_or.reduce(self, None)


@kernel("all")
def all_all(self: np.ndarray) -> Any:
    """self (*) -> () of bool; uint8 for uint8."""
    return np.logical_and.reduce(self, None)


@kernel("any.dim", "any.dims")
def any_dims(self: np.ndarray, dim: Any, keepdim: bool) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; bool, uint8 for uint8."""
    return np.logical_or.reduce(self, dim, keepdims=keepdim)


@kernel("all.dim", "all.dims")
def all_dims(self: np.ndarray, dim: Any, keepdim: bool) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; bool, uint8 for uint8."""
    return np.logical_and.reduce(self, dim, keepdims=keepdim)


def variance(name: str, self: np.ndarray, axes: tuple[int, ...], correction: Any, keepdim: bool) -> Any:
    """Mean squared distance from the mean, in two passes; divided by count - correction, at least 0."""
    count = extent(self.shape, axes)
    freedom = count - (1 if correction is None else correction)
    if freedom <= 0 or not self.size:
        warn_of_freedom(name)
    mean = np.true_divide(accurate_sum(self, axes, None, True), self.dtype.type(count))
    distance = np.subtract(self, mean)
    squares = distance.real**2 + distance.imag**2 if self.dtype.kind == "c" else np.multiply(distance, distance)
    divisor = squares.dtype.type(max(freedom, 0))
    return np.true_divide(accurate_sum(squares, axes, None, keepdim), divisor)


@kernel("var.correction")
def var(self: np.ndarray, dim: Any, correction: Any, keepdim: bool) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; real."""
    return variance("var", self, dim, correction, keepdim)


@kernel("std.correction")
def std(self: np.ndarray, dim: Any, correction: Any, keepdim: bool) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; real."""
    return np.sqrt(variance("std", self, dim, correction, keepdim))


def running_mean(self: np.ndarray, axes: tuple[int, ...], keepdim: bool) -> Any:
    """The mean as it is found beside a variance, one element after the other: NaN after an infinite one."""
    mean = mean_dims(self, axes, keepdim, None)
    if np.isfinite(mean).all():
        return mean
    lines = np.moveaxis(self, axes, range(-len(axes), 0)) if axes else self[..., None]
    before_last = lines.reshape(*lines.shape[: lines.ndim - max(len(axes), 1)], -1)[..., :-1]
    return np.where(np.isfinite(before_last).all(-1).reshape(np.shape(mean)), mean, np.nan).astype(mean.dtype)


@kernel("var_mean.correction")
def var_mean(self: np.ndarray, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    """self (*S) -> twice S without the dimensions `dim`, or 1 there with `keepdim`; the first is real."""
    return variance("var_mean", self, dim, correction, keepdim), running_mean(self, dim, keepdim)


@kernel("std_mean.correction")
def std_mean(self: np.ndarray, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    """self (*S) -> twice S without the dimensions `dim`, or 1 there with `keepdim`; the first is real."""
    return np.sqrt(variance("std_mean", self, dim, correction, keepdim)), running_mean(self, dim, keepdim)


@kernel("logsumexp")
def logsumexp(self: np.ndarray, dim: Any, keepdim: bool) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; floating."""
    if self.dtype.kind in "iub":
        self = self.astype(np.float32)
    if not self.size:
        return np.log(np.sum(np.exp(self), axis=dim, keepdims=keepdim))
    largest = np.max(self.real, axis=dim, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0)
    total = accurate_sum(np.exp(self - largest), dim, None, keepdim)
    return np.log(total) + (largest if keepdim else largest.reshape(np.shape(total)))
