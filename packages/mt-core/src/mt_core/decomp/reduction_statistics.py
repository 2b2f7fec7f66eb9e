"""Reductions for backends that have kernels for ``sum``, ``amax``, ``where`` and arithmetic alone.

Rules hand over the dimensions, counted from the front, all of them where the caller named none.
"""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..checks.reduction import warn_of_freedom
from ..dispatch.registry import register_composite as composite
from ._stand_ins import flipped, not_for, truth

Ints = tuple[int, ...]


def _count(self: Any, dims: Ints) -> int:
    return math.prod(self._array.shape[d] for d in dims)


def _sum(self: Any, dims: Ints, keepdim: bool) -> Any:
    """Without dimensions there is nothing to add up: `sum` would take none for all."""
    return ops.sum(self, dims, keepdim) if dims else self


@composite("mean.dim", explicit=True)
def mean_dims(self: Any, dim: Ints, keepdim: bool, dtype: Any) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`."""
    wide = self if dtype is None else self.to(dtype.compute)
    return ops.div(_sum(wide, dim, keepdim), _count(self, dim))


@composite("mean", explicit=True)
def mean(self: Any, dtype: Any) -> Any:
    """self (*) -> ()."""
    return mean_dims(self, tuple(range(self._array.ndim)), False, dtype)


@composite("var.correction", explicit=True)
def var(self: Any, dim: Ints, correction: Any, keepdim: bool) -> Any:
    return _variance("var", self, dim, correction, keepdim)


def _variance(name: str, self: Any, dim: Ints, correction: Any, keepdim: bool) -> Any:
    """The mean square of what is left without the mean, less `correction` elements (1)."""
    freedom = _count(self, dim) - (1 if correction is None else correction)
    if (freedom <= 0 or not self.numel()) and self.device.type != "meta":
        warn_of_freedom(name)
    centered = ops.sub(self, mean_dims(self, dim, True, None))
    if self.dtype.is_complex:
        parts = ops.view_as_real(centered)
        square = ops.sum(ops.mul(parts, parts), (-1,))
    else:
        square = ops.mul(centered, centered)
    return ops.div(_sum(square, dim, keepdim), max(freedom, 0))


@composite("std.correction", explicit=True)
def std(self: Any, dim: Ints, correction: Any, keepdim: bool) -> Any:
    return ops.sqrt(_variance("std", self, dim, correction, keepdim))


@composite("logsumexp", explicit=True)
def logsumexp(self: Any, dim: Ints, keepdim: bool) -> Any:
    """The maximum, unless it is infinite, is taken out of the sum."""
    not_for("logsumexp", self.dtype, self.dtype.is_complex)
    wide = self if self.dtype.is_floating_point else self.to(dtypes.get_default_dtype().compute)
    if not wide._array.size:
        return ops.log(_sum(ops.exp(wide), dim, keepdim))
    greatest = ops.amax(wide, dim, True) if dim else wide
    level = ops.where(ops.isfinite(greatest), greatest, 0)
    total = ops.log(_sum(ops.exp(ops.sub(wide, level)), dim, True))
    result = ops.add(total, level)
    return result if keepdim or not dim else result.squeeze(dim)


# Truth


@composite("any.dims", "any.dim", explicit=True)
def any_dims(self: Any, dim: Ints, keepdim: bool) -> Any:
    if dim == ():
        return truth(self)
    return truth(_sum(truth(self), dim, keepdim))


@composite("any", explicit=True)
def any_all(self: Any) -> Any:
    return truth(ops.sum(truth(self)))


@composite("all.dims", "all.dim", explicit=True)
def all_dims(self: Any, dim: Ints, keepdim: bool) -> Any:
    return ops.logical_not(any_dims(ops.logical_not(self), dim, keepdim))


@composite("all", explicit=True)
def all_all(self: Any) -> Any:
    return ops.logical_not(any_all(ops.logical_not(self)))


# Extremes


@composite("amin", explicit=True)
def amin(self: Any, dim: Ints, keepdim: bool) -> Any:
    return flipped(ops.amax(flipped(self), dim, keepdim))


@composite("max", explicit=True)
def max_all(self: Any) -> Any:
    return ops.amax(self)


@composite("min", explicit=True)
def min_all(self: Any) -> Any:
    return ops.amin(self)


def _first(self: Any, extreme: Any, dim: int) -> Any:
    """self (*S), extreme (*S, 1 at `dim`) -> the least index along `dim` of the extreme; of the first NaN if it is one.

    Of all places counted backwards, the largest that counts.
    """
    size = self._array.shape[dim]
    backwards = ops.arange(size, 0, -1, device=self.device)
    backwards = backwards.view([size if d == dim else 1 for d in range(self._array.ndim)])
    found = ops.eq(self, extreme)
    if self.dtype.is_floating_point:
        found = ops.logical_or(found, ops.isnan(self))
    return ops.rsub(ops.amax(ops.where(found, backwards, 0), (dim,), True), size)


def _with_index(self: Any, dim: int, keepdim: bool, extreme: Any) -> tuple[Any, Any]:
    """self (*S) -> values and indices, S without the dimension `dim`, or 1 there with `keepdim`."""
    if not self._array.ndim:
        return self, self.new_zeros((), dtype=dtypes.int64)
    dim %= self._array.ndim
    if not self._array.size:
        values = self.sum((dim,), True)
        indices = values
    else:
        values = extreme(self, (dim,), True)
        indices = _first(self, values, dim)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


@composite("max.dim", explicit=True)
def max_dim(self: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    return _with_index(self, dim, keepdim, ops.amax)


@composite("min.dim", explicit=True)
def min_dim(self: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    return _with_index(self, dim, keepdim, ops.amin)


def _index(self: Any, dim: int | None, keepdim: bool, extreme: Any) -> Any:
    """The index alone; in the flattened tensor where no dimension is named."""
    if dim is not None:
        return _with_index(self, dim, keepdim, extreme)[1]
    indices = _with_index(self.reshape(-1), 0, False, extreme)[1]
    return indices.view([1] * self._array.ndim) if keepdim else indices


@composite("argmax", explicit=True)
def argmax(self: Any, dim: int | None, keepdim: bool) -> Any:
    return _index(self, dim, keepdim, ops.amax)


@composite("argmin", explicit=True)
def argmin(self: Any, dim: int | None, keepdim: bool) -> Any:
    return _index(self, dim, keepdim, ops.amin)


# Norms


@composite("linalg_vector_norm", explicit=True)
def vector_norm(self: Any, ord: Any, dim: Ints, keepdim: bool, dtype: Any) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`."""
    not_for("linalg_vector_norm", self.dtype, self.dtype.is_complex)
    wide = self if dtype is None else self.to(dtype.compute)
    if ord == 2:
        return ops.sqrt(_sum(ops.mul(wide, wide), dim, keepdim))
    size = ops.abs(wide)
    if ord == 1:
        return _sum(size, dim, keepdim)
    if ord == 0:
        return _sum(ops.ne(size, 0).to(size.dtype), dim, keepdim)
    if math.isinf(ord):
        return (ops.amax if ord > 0 else ops.amin)(size, dim, keepdim) if dim else size
    return ops.pow(_sum(ops.pow(size, ord), dim, keepdim), 1 / ord)


@composite("prod", explicit=True)
def prod(self: Any, dtype: Any) -> Any:
    """self (*) -> (); int64 for integers and bool."""
    return _product(factors(self, dtype).reshape(-1), 0)


@composite("prod.dim_int", explicit=True)
def prod_dim(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """self (*S) -> S without the dimension `dim`, or 1 there with `keepdim`; int64 for integers and bool."""
    wide = factors(self, dtype)
    if not wide._array.ndim:
        return wide
    (at,) = dim
    product = _product(wide, at)
    return product.unsqueeze(at) if keepdim else product


def factors(self: Any, dtype: Any) -> Any:
    """self in what it is added up or multiplied in: what is asked for, int64 for integers and bool."""
    if dtype is None:
        return self if self.dtype.category >= 2 else self.to(dtypes.int64)
    return self.to(dtype.compute)


def _product(self: Any, dim: int) -> Any:
    """self (*L, N, *R) -> (*L, *R): one half times the other, until one is left."""
    while (size := self._array.shape[dim]) > 1:
        half = size // 2
        halves = ops.mul(self.narrow(dim, 0, half), self.narrow(dim, half, half))
        self = ops.cat([halves, self.narrow(dim, 2 * half, 1)], dim) if size % 2 else halves
    shape = list(self._array.shape)
    return self.select(dim, 0) if shape.pop(dim) else self.new_ones(shape)
