"""What accumulates along a dimension."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from ..calls import Call, Value, convert, jax_dtype, opmath
from .table import dimension, lower

__all__: list[str] = []


@lower("cumsum", "cumprod", "logcumsumexp")
def _accumulate(call: Call, self: Value, dim: int, dtype: Any = None) -> Value:
    x = convert(self, jax_dtype(opmath(call.dtype)))
    if x.ndim == 0 or x.size == 0:
        return call.result(x)
    dim = dimension(dim, x.ndim)
    function = {"cumsum": jnp.cumsum, "cumprod": jnp.cumprod, "logcumsumexp": lax.cumlogsumexp}[call.name]
    return call.result(function(x, axis=dim))


@lower("cummax", "cummin")
def _extremes(call: Call, self: Value, dim: int) -> list[Value]:
    """The extreme so far and its last place; NaN is one."""
    if self.ndim == 0 or self.size == 0:
        return [self, call.result(jnp.zeros(self.shape, jnp.int64), 1)]
    dim = dimension(dim, self.ndim)
    places = lax.broadcasted_iota(jnp.int64, self.shape, dim)
    better = jnp.greater_equal if call.name == "cummax" else jnp.less_equal

    def later(a: Any, b: Any) -> Any:
        (x, i), (y, j) = a, b
        if jnp.issubdtype(x.dtype, jnp.floating):
            takes = jnp.isnan(y) | (~jnp.isnan(x) & better(y, x))
        else:
            takes = better(y, x)
        return jnp.where(takes, y, x), jnp.where(takes, j, i)

    values, found = lax.associative_scan(later, (self, places), axis=dim)
    return [call.result(values, 0), call.result(found, 1)]
