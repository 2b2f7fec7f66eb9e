"""Tensors of numbers that no tensor tells. What is left empty in eager execution is zero."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from ..calls import Call, Value, constant, convert, jax_dtype
from .table import lower

__all__: list[str] = []


@lower(
    "empty.memory_format", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided",
    "new_zeros", "zeros", "zeros_like", "empty_quantized",
)  # fmt: skip
def _zeros(call: Call, *_: Any) -> Value:
    return jnp.zeros(call.shape, jax_dtype(call.dtype))


@lower("ones", "ones_like", "new_ones")
def _ones(call: Call, *_: Any) -> Value:
    return jnp.ones(call.shape, jax_dtype(call.dtype))


@lower("full", "full_like", "new_full", "fill.Scalar", "fill.Tensor")
def _full(call: Call, like: Any, *rest: Any) -> Value:
    number = rest[1] if call.name == "new_full" else rest[0]
    return call.result(convert(number, jax_dtype(call.dtype)))


@lower("scalar_tensor")
def _scalar_tensor(call: Call, number: Any, *_: Any) -> Value:
    return call.result(convert(number, jax_dtype(call.dtype)))


@lower("arange", "arange.start", "arange.start_step")
def _arange(call: Call, *args: Any) -> Value:
    numbers = args[: {"arange": 1, "arange.start": 2, "arange.start_step": 3}[call.name]]
    start = numbers[0] if len(numbers) > 1 else 0
    step = numbers[2] if len(numbers) > 2 else 1
    dtype = jax_dtype(call.dtype)
    kind = jnp.int64 if jnp.issubdtype(dtype, jnp.integer) else jnp.float64
    steps = jnp.arange(call.shape[0], dtype=kind)
    return call.result(constant(start, kind) + steps * constant(step, kind))


@lower("eye", "eye.m")
def _eye(call: Call, *_: Any) -> Value:
    rows, columns = call.shape
    return jnp.eye(rows, columns, dtype=jax_dtype(call.dtype))


@lower("linspace")
def _linspace(call: Call, start: Any, end: Any, steps: int, *_: Any) -> Value:
    dtype = jax_dtype(call.dtype)
    if not jnp.issubdtype(dtype, jnp.floating):
        raise call.refuse("of integers or complex numbers")
    if steps < 2:
        return call.result(constant(start, dtype))
    step = (constant(end, dtype) - constant(start, dtype)) / (steps - 1)
    places = jnp.arange(steps)
    up = constant(start, dtype) + step * places.astype(dtype)
    down = constant(end, dtype) - step * (steps - 1 - places).astype(dtype)
    return call.result(jnp.where(places < steps // 2, up, down))


@lower("tril_indices", "triu_indices")
def _triangle_indices(call: Call, row: int, col: int, offset: int, *_: Any) -> Value:
    function = jnp.tril_indices if call.name == "tril_indices" else jnp.triu_indices
    return call.result(jnp.stack(function(row, offset, col)))
