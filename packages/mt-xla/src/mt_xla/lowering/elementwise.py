"""Functions of one element."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy import special

from ..calls import Call, Value, convert, jax_dtype, opmath
from .table import elementwise, lower

__all__: list[str] = []


def _is_complex(x: Value) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.complexfloating))


def _is_float(x: Value) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.inexact))


def _sign(x: Value) -> Value:
    """1, 0 or -1; of NaN 0."""
    if x.dtype == jnp.bool_:
        return x
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


def _sgn(x: Value) -> Value:
    if not _is_complex(x):
        return _sign(x)
    size = jnp.abs(x)
    return jnp.where(size == 0, jnp.zeros_like(x), x / jnp.where(size == 0, 1, size))


def _rounding(function: Any) -> Any:
    return lambda x: function(x) if _is_float(x) else x


def _sinc(x: Value) -> Value:
    product = jnp.pi * x
    return jnp.where(x == 0, jnp.ones_like(x), jnp.sin(product) / jnp.where(x == 0, 1, product))


def _entr(x: Value) -> Value:
    value = -x * jnp.log(jnp.where(x > 0, x, 1))
    return jnp.where(jnp.isnan(x), x, jnp.where(x > 0, value, jnp.where(x == 0, 0, -jnp.inf)))


elementwise(
    {
        "exp": jnp.exp, "exp2": jnp.exp2, "expm1": jnp.expm1, "log": jnp.log, "log2": jnp.log2, "log10": jnp.log10,
        "log1p": jnp.log1p, "sqrt": jnp.sqrt, "rsqrt": lax.rsqrt, "reciprocal": lambda x: 1 / x,
        "sin": jnp.sin, "cos": jnp.cos, "tan": jnp.tan, "asin": jnp.arcsin, "acos": jnp.arccos, "atan": jnp.arctan,
        "sinh": jnp.sinh, "cosh": jnp.cosh, "tanh": jnp.tanh, "asinh": jnp.arcsinh, "acosh": jnp.arccosh,
        "atanh": jnp.arctanh, "sigmoid": jax.nn.sigmoid, "sinc": _sinc,
        "erf": special.erf, "erfc": special.erfc, "erfinv": special.erfinv, "lgamma": special.gammaln,
        "i0": special.i0, "special_i0e": special.i0e, "special_i1": special.i1, "special_i1e": special.i1e,
        "special_entr": _entr, "deg2rad": lambda x: x * (jnp.pi / 180), "rad2deg": lambda x: x * (180 / jnp.pi),
        "neg": jnp.negative, "positive": lambda x: x, "sgn": _sgn, "sign": _sign,
        "ceil": _rounding(jnp.ceil), "floor": _rounding(jnp.floor), "trunc": _rounding(jnp.trunc),
        "round": _rounding(jnp.round), "frac": lambda x: x - jnp.trunc(x),
        "bitwise_not": lambda x: ~x, "square": jnp.square,
        "silu": lambda x: x / (1 + jnp.exp(-x)),
        "relu": lambda x: jnp.where(x > 0, x, jnp.where(jnp.isnan(x) if _is_float(x) else False, x, 0)),
    },
    operands=1,
)  # fmt: skip
elementwise(
    {
        "isnan": jnp.isnan, "isinf": jnp.isinf, "isfinite": jnp.isfinite,
        "isposinf": lambda x: x == jnp.inf if _is_float(x) else jnp.zeros(x.shape, bool),
        "isneginf": lambda x: x == -jnp.inf if _is_float(x) else jnp.zeros(x.shape, bool),
        "isreal": lambda x: x.imag == 0 if _is_complex(x) else jnp.ones(x.shape, bool),
        "signbit": lambda x: jnp.signbit(x) if _is_float(x) else x < 0,
        "logical_not": lambda x: x == 0, "abs": jnp.abs, "angle": jnp.angle,
    },
    operands=1,
    of_common=True,
)  # fmt: skip


@lower("gelu")
def _gelu(call: Call, self: Value, approximate: str) -> Value:
    x = convert(self, jax_dtype(opmath(call.dtype)))
    if approximate == "none":
        return call.result(0.5 * x * (1 + special.erf(x * 0.7071067811865476)))
    return call.result(0.5 * x * (1 + jnp.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))))


@lower("round.decimals")
def _round_decimals(call: Call, self: Value, decimals: int) -> Value:
    x = convert(self, jax_dtype(opmath(call.dtype)))
    if not _is_float(x):
        raise call.refuse("of integers")
    if decimals == 0:
        return call.result(jnp.round(x))
    scale = 10.0 ** abs(decimals)
    return call.result(jnp.round(x * scale) / scale if decimals > 0 else jnp.round(x / scale) * scale)


@lower("nan_to_num")
def _nan_to_num(call: Call, self: Value, nan: float | None, posinf: float | None, neginf: float | None) -> Value:
    if not _is_float(self):
        return call.result(self)
    limits = jnp.finfo(self.dtype)
    return call.result(
        jnp.nan_to_num(
            self, nan=0.0 if nan is None else nan, posinf=limits.max if posinf is None else posinf,
            neginf=limits.min if neginf is None else neginf,
        )
    )  # fmt: skip


@lower("hardsigmoid")
def _hardsigmoid(call: Call, self: Value) -> Value:
    x = convert(self, jax_dtype(opmath(call.dtype)))
    return call.result(jnp.clip(x + 3, 0, 6) / 6)


@lower("hardsigmoid_backward")
def _hardsigmoid_backward(call: Call, grad: Value, self: Value) -> Value:
    dtype = jax_dtype(opmath(call.dtype))
    g, x = convert(grad, dtype), convert(self, dtype)
    return call.result(jnp.where((x > -3) & (x < 3), g / 6, 0))


@lower("hardswish")
def _hardswish(call: Call, self: Value) -> Value:
    x = convert(self, jax_dtype(opmath(call.dtype)))
    return call.result(x * jnp.clip(x + 3, 0, 6) / 6)


@lower("hardswish_backward")
def _hardswish_backward(call: Call, grad: Value, self: Value) -> Value:
    dtype = jax_dtype(opmath(call.dtype))
    g, x = convert(grad, dtype), convert(self, dtype)
    return call.result(jnp.where(x <= -3, 0, jnp.where(x < 3, g * (x / 3 + 0.5), g)))


@lower("hardshrink")
def _hardshrink(call: Call, self: Value, lambd: Any) -> Value:
    return call.result(jnp.where((self >= -lambd) & (self <= lambd), jnp.zeros_like(self), self))


@lower("softshrink")
def _softshrink(call: Call, self: Value, lambd: Any) -> Value:
    x = convert(self, jax_dtype(opmath(call.dtype)))
    inside = jnp.where(jnp.isnan(x), x, 0)
    return call.result(jnp.where(x > lambd, x - lambd, jnp.where(x < -lambd, x + lambd, inside)))


@lower("hardshrink_backward", "softshrink_backward")
def _shrink_backward(call: Call, grad: Value, self: Value, lambd: Any) -> Value:
    return call.result(jnp.where((self >= -lambd) & (self <= lambd), jnp.zeros_like(grad), grad))


@lower("threshold")
def _threshold(call: Call, self: Value, threshold: Any, value: Any) -> Value:
    return call.result(jnp.where(self <= threshold, jnp.asarray(value, self.dtype), self))


@lower("_prelu_kernel")
def _prelu(call: Call, self: Value, weight: Value) -> Value:
    dtype = jax_dtype(opmath(call.dtype))
    x, w = convert(self, dtype), convert(weight, dtype)
    return call.result(jnp.where(x > 0, x, w * x))


@lower("_prelu_kernel_backward")
def _prelu_backward(call: Call, grad: Value, self: Value, weight: Value) -> list[Value]:
    dtype = jax_dtype(opmath(call.dtype))
    g, x, w = (convert(value, dtype) for value in (grad, self, weight))
    return [call.result(jnp.where(x > 0, g, w * g), 0), call.result(jnp.where(x > 0, 0, x * g), 1)]


@lower("logit")
def _logit(call: Call, self: Value, eps: float | None) -> Value:
    x = convert(self, jax_dtype(opmath(call.dtype)))
    x = x if eps is None else jnp.clip(x, eps, 1 - eps)
    return call.result(jnp.log(x / (1 - x)))


@lower("logit_backward")
def _logit_backward(call: Call, grad: Value, self: Value, eps: float | None) -> Value:
    dtype = jax_dtype(opmath(call.dtype))
    g, x = convert(grad, dtype), convert(self, dtype)
    value = jnp.where((x == 0) | (x == 1), g * jnp.inf, g / (x * (1 - x)))
    low, high, outside = (0.0, 1.0, jnp.nan) if eps is None else (eps, 1 - eps, 0.0)
    return call.result(jnp.where((x < low) | (x > high), outside, value))
