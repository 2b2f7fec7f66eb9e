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
