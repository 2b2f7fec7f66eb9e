"""Elements made one along dimensions. Narrow floats are added up in float32."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from ..calls import Call, Value, convert, jax_dtype, opmath
from .table import dimension, dimensions, lower

__all__: list[str] = []


def _wide(call: Call, self: Value) -> Value:
    return convert(self, jax_dtype(opmath(call.dtype)))


@lower("sum", "sum.dim_IntList", "mean", "mean.dim", "prod", "prod.dim_int", "nansum")
def _sum(call: Call, self: Value, *rest: Any) -> Value:
    dims = (
        dimensions(rest[0], self.ndim)
        if call.name in ("sum.dim_IntList", "mean.dim", "prod.dim_int", "nansum")
        else None
    )
    keepdim = bool(rest[1]) if dims is not None else False
    function = {"s": jnp.sum, "m": jnp.mean, "p": jnp.prod, "n": jnp.nansum}[call.name[0]]
    x = _wide(call, self)
    if x.dtype == jnp.bool_:
        found = function(x.astype(jnp.int64), axis=dims, keepdims=keepdim)
    else:
        found = function(x, axis=dims, keepdims=keepdim)
    return call.result(found)


@lower("amax", "amin")
def _extreme(call: Call, self: Value, dim: Any, keepdim: bool) -> Value:
    function = jnp.max if call.name == "amax" else jnp.min
    return call.result(function(self, axis=dimensions(dim, self.ndim), keepdims=keepdim))


@lower("max", "min")
def _extreme_of_all(call: Call, self: Value) -> Value:
    return call.result((jnp.max if call.name == "max" else jnp.min)(self))


@lower("max.dim", "min.dim")
def _extreme_and_place(call: Call, self: Value, dim: int, keepdim: bool) -> list[Value]:
    find = jnp.argmax if call.name == "max.dim" else jnp.argmin
    x = self.reshape(1) if self.ndim == 0 else self
    dim = dimension(dim, self.ndim)
    places = find(x, axis=dim, keepdims=True)
    values = jnp.take_along_axis(x, places, dim)
    return [call.result(values.reshape(call.shape), 0), call.result(places.reshape(call.shape), 1)]


@lower("argmax", "argmin")
def _place(call: Call, self: Value, dim: int | None, keepdim: bool) -> Value:
    find = jnp.argmax if call.name == "argmax" else jnp.argmin
    if dim is None or self.ndim == 0:
        return call.result(find(self.reshape(-1)).reshape(call.shape))
    return call.result(find(self, axis=dimension(dim, self.ndim), keepdims=keepdim))


def _truths(function: Callable[..., Value]) -> Callable[..., Value]:
    def lowered(call: Call, self: Value, dim: Any = None, keepdim: bool = False) -> Value:
        dims = dimensions(dim, self.ndim)
        return call.result(function(self != 0, axis=dims, keepdims=keepdim))

    return lowered


for _form in ("", ".dim", ".dims"):
    lower(f"all{_form}")(_truths(jnp.all))
    lower(f"any{_form}")(_truths(jnp.any))


@lower("count_nonzero", "count_nonzero.dim_IntList")
def _count_nonzero(call: Call, self: Value, dim: Any) -> Value:
    return call.result(jnp.sum(self != 0, axis=dimensions(dim, self.ndim)))


def _spread(call: Call, self: Value, dim: Any, correction: Any, keepdim: bool) -> tuple[Value, Value]:
    """Variance and mean."""
    x = _wide(call, self)
    dims = dimensions(dim, x.ndim)
    mean = jnp.mean(x, axis=dims, keepdims=True)
    count = 1
    for d in dims:
        count *= x.shape[d]
    away = jnp.abs(x - mean)
    freedom = max(count - (1 if correction is None else correction), 0)
    variance = jnp.sum(away * away, axis=dims, keepdims=keepdim)
    variance = variance / freedom if freedom else variance / jnp.zeros((), variance.dtype)
    return variance, mean if keepdim else mean.reshape(variance.shape)


@lower("var.correction", "std.correction")
def _var(call: Call, self: Value, dim: Any, correction: Any, keepdim: bool) -> Value:
    if jnp.issubdtype(self.dtype, jnp.complexfloating):
        raise call.refuse("of complex numbers")
    variance, _ = _spread(call, self, dim, correction, keepdim)
    return call.result(variance if call.name.startswith("var") else jnp.sqrt(variance))


@lower("var_mean.correction", "std_mean.correction")
def _var_mean(call: Call, self: Value, dim: Any, correction: Any, keepdim: bool) -> list[Value]:
    if jnp.issubdtype(self.dtype, jnp.complexfloating):
        raise call.refuse("of complex numbers")
    variance, mean = _spread(call, self, dim, correction, keepdim)
    return [call.result(variance if call.name.startswith("var") else jnp.sqrt(variance), 0), call.result(mean, 1)]


@lower("linalg_vector_norm")
def _vector_norm(call: Call, self: Value, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Value:
    x = jnp.abs(convert(self, jax_dtype(opmath(call.fakes[0].dtype if dtype is None else dtype))))
    dims = dimensions(dim, x.ndim)
    if ord == math.inf:
        found = jnp.max(x, axis=dims, keepdims=keepdim)
    elif ord == -math.inf:
        found = jnp.min(x, axis=dims, keepdims=keepdim)
    elif ord == 0:
        found = jnp.sum(x != 0, axis=dims, keepdims=keepdim)
    elif ord == 1:
        found = jnp.sum(x, axis=dims, keepdims=keepdim)
    elif ord == 2:
        found = jnp.sqrt(jnp.sum(x * x, axis=dims, keepdims=keepdim))
    else:
        found = jnp.sum(x**ord, axis=dims, keepdims=keepdim) ** (1 / ord)
    return call.result(found)


@lower("logsumexp")
def _logsumexp(call: Call, self: Value, dim: Any, keepdim: bool) -> Value:
    x = _wide(call, self)
    dims = dimensions(dim, x.ndim)
    high = jnp.max(x, axis=dims, keepdims=True, initial=-jnp.inf)
    high = jnp.where(jnp.isinf(high), 0, high)
    found = jnp.log(jnp.sum(jnp.exp(x - high), axis=dims, keepdims=True)) + high
    return call.result(found.reshape(call.shape))
