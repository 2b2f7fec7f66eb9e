"""Products of matrices; those of narrow floats are added up in float32, and of integers in their dtype."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from ..calls import Call, Value, convert, jax_dtype, opmath
from .table import lower

__all__: list[str] = []


def _product(call: Call, a: Value, b: Value) -> Value:
    """``a @ b``, of vectors, matrices or batches of them, not rounded yet."""
    wide = jax_dtype(opmath(call.dtype))
    if a.dtype == jnp.bool_:
        return jnp.matmul(a.astype(jnp.int32), b.astype(jnp.int32)) != 0
    return jnp.matmul(a, b, preferred_element_type=wide, precision=lax.Precision.HIGHEST)


@lower("mm", "bmm", "mv", "dot", "matmul")
def _multiply(call: Call, self: Value, other: Value) -> Value:
    return call.result(_product(call, self, other))


@lower("vdot")
def _vdot(call: Call, self: Value, other: Value) -> Value:
    return call.result(_product(call, jnp.conj(self), other))


@lower("addmm", "baddbmm", "addmv")
def _added(call: Call, self: Value, a: Value, b: Value, beta: Any, alpha: Any) -> Value:
    wide = jax_dtype(opmath(call.dtype))
    if wide == jnp.bool_:
        raise call.refuse("of bool")
    product = _product(call, a, b)
    if alpha != 1:
        product = product * convert(alpha, wide)
    if beta == 0:
        return call.result(product)
    start = convert(self, wide)
    start = start if beta == 1 else start * convert(beta, wide)
    return call.result(start + product if product.size else start)


@lower("_linear_of_rows")
def _linear_of_rows(call: Call, bias: Value, input: Value, weight: Value) -> Value:
    product = _product(call, input, weight.T)
    return call.result(product + convert(bias, product.dtype))


@lower("linear")
def _linear(call: Call, input: Value, weight: Value, bias: Value | None) -> Value:
    product = _product(call, input, weight.T)
    return call.result(product if bias is None else product + convert(bias, product.dtype))


@lower("_int_mm")
def _int_mm(call: Call, self: Value, mat2: Value) -> Value:
    return jnp.matmul(self, mat2, preferred_element_type=jnp.int32)
