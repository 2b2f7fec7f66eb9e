"""Special functions that jax has."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax.scipy import special

import mt_core as mt

from ..calls import Call, Value, convert, jax_dtype, opmath
from .table import elementwise, lower, operands_of

__all__: list[str] = []


def _digamma(x: Value) -> Value:
    """At 0 infinite, with the sign turned; NaN at the other poles."""
    pole = jnp.where(jnp.signbit(x), jnp.inf, -jnp.inf).astype(x.dtype)
    is_pole = (x < 0) & (x == jnp.trunc(x))
    found = special.digamma(jnp.where(is_pole | (x == 0), 1, x))
    return jnp.where(x == 0, pole, jnp.where(is_pole, jnp.nan, found))


elementwise({"digamma": _digamma, "special_log_ndtr": special.log_ndtr, "special_ndtri": special.ndtri}, operands=1)


def _igamma(a: Value, x: Value) -> Value:
    outside = (x < 0) | (a < 0) | (a == 0) & (x == 0) | jnp.isinf(a) & jnp.isinf(x)
    found = special.gammainc(jnp.where(a > 0, a, 1), jnp.where(x > 0, x, 1))
    found = jnp.where(a == 0, 1, jnp.where(x == 0, 0, jnp.where(jnp.isinf(a), 0, jnp.where(jnp.isinf(x), 1, found))))
    return jnp.where(outside | jnp.isnan(a) | jnp.isnan(x), jnp.nan, found).astype(a.dtype)


def _igammac(a: Value, x: Value) -> Value:
    found = special.gammaincc(jnp.where(a > 0, a, 1), jnp.where(x > 0, x, 1))
    found = jnp.where(a == 0, 0, jnp.where(x == 0, 1, jnp.where(jnp.isinf(a), 1, jnp.where(jnp.isinf(x), 0, found))))
    return jnp.where(jnp.isnan(_igamma(a, x)), jnp.nan, found).astype(a.dtype)


elementwise({"igamma": _igamma, "igammac": _igammac}, operands=2)


@lower("celu")
def _celu(call: Call, self: Value, alpha: Any) -> Value:
    (x,) = operands_of(call, (self,))
    factor = convert(alpha, x.dtype)
    return call.result(jnp.where(x > 0, x, factor * jnp.expm1(jnp.minimum(x, 0) / factor) + 0 * x))


@lower("ldexp.Tensor")
def _ldexp(call: Call, self: Value, other: Value) -> Value:
    """A product with a power of two, which is rounded to the dtype of the exponent."""
    given = call.fakes[1].dtype
    held = jax_dtype(given if given.is_floating_point else mt.get_default_dtype())
    power = jnp.exp2(convert(other, jax_dtype(opmath(given)) if given.is_floating_point else held)).astype(held)
    x, scale = (convert(value, jax_dtype(opmath(call.dtype))) for value in (self, power))
    return call.result(x * scale)


@lower("frexp.Tensor")
def _frexp(call: Call, self: Value) -> list[Value]:
    mantissa, exponent = jnp.frexp(convert(self, jax_dtype(opmath(call.dtype))))
    return [call.result(mantissa, 0), call.result(jnp.where(jnp.isfinite(mantissa), exponent, 0), 1)]
