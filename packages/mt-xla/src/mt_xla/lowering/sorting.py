"""Order. Equal elements keep theirs, NaN counts as the largest."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from ..calls import Call, Value
from .table import dimension, lower

__all__: list[str] = []


def _sorted(self: Value, dim: int, descending: bool) -> tuple[Value, Value]:
    places = jnp.argsort(self, axis=dim, stable=True, descending=descending)
    return jnp.take_along_axis(self, places, dim), places


@lower("sort", "sort.stable")
def _sort(call: Call, self: Value, *rest: Any) -> list[Value]:
    dim, descending = rest[-2:]
    if self.ndim == 0:
        return [self, jnp.zeros((), jnp.int64)]
    values, places = _sorted(self, dimension(dim, self.ndim), descending)
    return [values, call.result(places, 1)]


@lower("topk")
def _topk(call: Call, self: Value, k: int, dim: int, largest: bool, sorted: bool) -> list[Value]:
    """Of equal elements the first ones; which ones eager execution takes is not laid down."""
    if self.ndim == 0:
        return [self.reshape(call.shape), jnp.zeros(call.shape, jnp.int64)]
    dim = dimension(dim, self.ndim)
    values, places = _sorted(self, dim, largest)
    first = (slice(None),) * dim + (slice(0, k),)
    return [values[first], call.result(places[first], 1)]


@lower("searchsorted.Tensor")
def _searchsorted(call: Call, *args: Any) -> Value:
    bounds, values, _, right, side, sorter = args
    if bounds.ndim != 1 or sorter is not None:
        raise call.refuse("with rows of bounds, or a sorter")
    return call.result(jnp.searchsorted(bounds, values, side="right" if right or side == "right" else "left"))


@lower("kthvalue")
def _kthvalue(call: Call, self: Value, k: int, dim: int, keepdim: bool) -> list[Value]:
    return _of_order(call, self, k - 1, dim, keepdim)


def _of_order(call: Call, self: Value, place: Any, dim: int, keepdim: bool) -> list[Value]:
    """The element at a place of the order along a dimension, and where it was."""
    if self.ndim == 0:
        return [self, jnp.zeros((), jnp.int64)]
    dim = dimension(dim, self.ndim)
    values, places = _sorted(self, dim, False)
    index = jnp.broadcast_to(place, (*self.shape[:dim], 1, *self.shape[dim + 1 :]))
    found = [jnp.take_along_axis(x, index, dim) for x in (values, places)]
    return [call.result(x if keepdim else x.squeeze(dim), place) for place, x in enumerate(found)]


def _middle(self: Value, dim: int, ignores_nan: bool) -> Value:
    """The lower middle of what there is along a dimension; the first NaN where that counts and there is one."""
    if not jnp.issubdtype(self.dtype, jnp.floating):
        return jnp.asarray((self.shape[dim] - 1) // 2)
    nans = jnp.isnan(self).sum(dim, keepdims=True)
    numbers = self.shape[dim] - nans
    middle = jnp.maximum(numbers - 1, 0) // 2
    return middle if ignores_nan else jnp.where(nans > 0, numbers, (self.shape[dim] - 1) // 2)


@lower("median", "nanmedian")
def _median(call: Call, self: Value) -> Value:
    flat = self.reshape(-1)
    if flat.size == 0:
        raise call.refuse("of nothing")
    return call.result(jnp.sort(flat)[_middle(flat, 0, call.name == "nanmedian").reshape(())])


@lower("median.dim", "nanmedian.dim")
def _median_along(call: Call, self: Value, dim: int, keepdim: bool) -> list[Value]:
    if self.ndim == 0:
        return [self, jnp.zeros((), jnp.int64)]
    dim = dimension(dim, self.ndim)
    return _of_order(call, self, _middle(self, dim, call.name.startswith("nan")), dim, keepdim)
