"""Functions of two elements and more."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..calls import Call, Value, convert
from .table import elementwise, lower, operands_of

__all__: list[str] = []


def _is_float(x: Value) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.inexact))


@lower("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar", "rsub.Scalar", "rsub.Tensor")
def _add(call: Call, self: Value, other: Any, alpha: Any) -> Value:
    a, b = operands_of(call, (self, other))
    scale = convert(alpha, a.dtype)
    if a.dtype == jnp.bool_:
        return call.result(a | (b & scale))
    is_plain = not isinstance(alpha, jax.Array) and alpha == 1
    if call.name.startswith("rsub"):
        return call.result(b - (a if is_plain else a * scale))
    scaled = b if is_plain else b * scale
    return call.result(a - scaled if call.name.startswith("sub") else a + scaled)


def _multiply(a: Value, b: Value) -> Value:
    return a & b if a.dtype == jnp.bool_ else a * b


def _floored(a: Value, b: Value) -> Value:
    if not _is_float(a):
        return jnp.floor_divide(a, b)
    # As C's fmod has it: the quotient of what remains is exact but for one rounding, which may end at a neighbour.
    rest = lax.rem(a, b)
    quotient = (a - rest) / b
    quotient = jnp.where((rest != 0) & ((b < 0) != (rest < 0)), quotient - 1, quotient)
    nearest = jnp.floor(quotient)
    nearest = jnp.where(quotient - nearest > 0.5, nearest + 1, nearest)
    found = jnp.where(quotient == 0, jnp.copysign(0, a / b), nearest)
    return jnp.where(b == 0, a / b, found)


def _refuse_zero(call: Call, b: Value) -> None:
    if not _is_float(b):
        call.check((b != 0).all(), RuntimeError, "ZeroDivisionError")


@lower("div.Tensor_mode", "floor_divide")
def _divide_rounded(call: Call, self: Value, other: Any, rounding_mode: str | None = "floor") -> Value:
    a, b = operands_of(call, (self, other))
    if rounding_mode is None:
        return call.result(a / b)
    _refuse_zero(call, b)
    if rounding_mode == "floor":
        return call.result(_floored(a, b))
    return call.result(jnp.trunc(a / b) if _is_float(a) else lax.div(a, b))


def _remainder(a: Value, b: Value) -> Value:
    if not _is_float(a):
        return jnp.remainder(a, b)
    rest = lax.rem(a, b)
    return jnp.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


@lower("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor", "fmod.Tensor", "fmod.Scalar")
def _rest(call: Call, self: Any, other: Any) -> Value:
    a, b = operands_of(call, (self, other))
    _refuse_zero(call, b)
    return call.result(lax.rem(a, b) if call.name.startswith("fmod") else _remainder(a, b))


@lower("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def _pow(call: Call, self: Any, exponent: Any) -> Value:
    a, b = operands_of(call, (self, exponent))
    if a.dtype == jnp.bool_:
        return call.result(a | ~b)
    if _is_float(a):
        if call.name == "pow.Tensor_Scalar" and exponent == 2:
            return call.result(a * a)
        if call.name == "pow.Tensor_Scalar" and exponent == 0.5:
            return call.result(jnp.sqrt(a))
        return call.result(jnp.power(a, b))
    if call.name == "pow.Tensor_Scalar":
        if exponent < 0:
            raise call.refuse("with a negative exponent of integers")
        return call.result(lax.integer_pow(a, int(exponent)))
    return call.result(_integer_power(a, b))


def _integer_power(base: Value, exponent: Value) -> Value:
    """Powers by squaring, which wrap around; of negative exponents 1 over it, in integers."""
    base, exponent = jnp.broadcast_arrays(base, exponent)
    result = jnp.ones_like(base)
    square, left = base, jnp.maximum(exponent, 0)
    for _ in range(jnp.iinfo(exponent.dtype).bits):
        result = jnp.where(left & 1 == 1, result * square, result)
        square, left = square * square, left >> 1
    odd = exponent & 1 == 1
    inverse = jnp.where(base == 1, 1, jnp.where(base == -1, jnp.where(odd, -1, 1), 0)).astype(base.dtype)
    return jnp.where(exponent < 0, inverse, result)


def _shift(function: Any, signed_fill: bool) -> Any:
    def shifted(a: Value, b: Value) -> Value:
        bits = jnp.iinfo(a.dtype).bits
        outside = (b < 0) | (b >= bits)
        filled = jnp.where(a < 0, -1, 0).astype(a.dtype) if signed_fill else jnp.zeros_like(a)
        return jnp.where(outside, filled, function(a, jnp.where(outside, 0, b)))

    return shifted


def _xlogy(x: Value, y: Value, logarithm: Any = jnp.log) -> Value:
    return jnp.where(jnp.isnan(y), jnp.nan, jnp.where(x == 0, 0, x * logarithm(y)))


def _logaddexp(a: Value, b: Value) -> Value:
    same = (a == b) & jnp.isinf(a)
    high, low = jnp.maximum(a, b), jnp.minimum(a, b)
    return jnp.where(same, a, high + jnp.log1p(jnp.exp(jnp.where(same, 0, low - high))))


def _logaddexp2(a: Value, b: Value) -> Value:
    same = (a == b) & jnp.isinf(a)
    high, low = jnp.maximum(a, b), jnp.minimum(a, b)
    return jnp.where(same, a, high + jnp.log1p(jnp.exp2(jnp.where(same, 0, low - high))) / jnp.log(2.0).astype(a.dtype))


elementwise(
    {
        "mul.Tensor": _multiply, "mul.Scalar": _multiply, "div.Tensor": jnp.divide, "div.Scalar": jnp.divide,
        "atan2": jnp.arctan2, "hypot": jnp.hypot, "maximum": jnp.maximum, "minimum": jnp.minimum,
        "fmax": jnp.fmax, "fmin": jnp.fmin, "copysign.Tensor": jnp.copysign, "copysign.Scalar": jnp.copysign,
        "nextafter": jnp.nextafter, "gcd": jnp.gcd, "lcm": lambda a, b: jnp.abs(jnp.lcm(a, b)),
        "logaddexp": _logaddexp, "logaddexp2": _logaddexp2,
        "bitwise_and.Tensor": jnp.bitwise_and, "bitwise_or.Tensor": jnp.bitwise_or,
        "bitwise_xor.Tensor": jnp.bitwise_xor,
        "bitwise_left_shift.Tensor": _shift(jnp.left_shift, False),
        "bitwise_right_shift.Tensor": _shift(jnp.right_shift, True),
        "xlogy.Tensor": _xlogy, "xlogy.Scalar_Self": _xlogy, "xlogy.Scalar_Other": _xlogy,
        "special_xlog1py": lambda x, y: _xlogy(x, y, jnp.log1p),
        "special_xlog1py.self_scalar": lambda x, y: _xlogy(x, y, jnp.log1p),
        "special_xlog1py.other_scalar": lambda x, y: _xlogy(x, y, jnp.log1p),
        "heaviside": lambda x, y: jnp.where(x == 0, y, jnp.where(x < 0, 0, 1).astype(y.dtype)),
    },
    operands=2,
)  # fmt: skip


@lower("lerp.Scalar", "lerp.Tensor")
def _lerp(call: Call, self: Value, end: Value, weight: Any) -> Value:
    a, b = operands_of(call, (self, end))
    w = convert(weight, a.dtype)
    size = jnp.abs(w)
    return call.result(jnp.where(size < 0.5, a + w * (b - a), b - (b - a) * (1 - w)))


@lower("addcmul")
def _addcmul(call: Call, self: Value, tensor1: Value, tensor2: Value, value: Any) -> Value:
    a, x, y = operands_of(call, (self, tensor1, tensor2))
    scale = convert(value, a.dtype)
    return call.result(a + scale * x * y)


@lower("addcdiv")
def _addcdiv(call: Call, self: Value, tensor1: Value, tensor2: Value, value: Any) -> Value:
    a, x, y = operands_of(call, (self, tensor1, tensor2))
    scale = convert(value, a.dtype)
    return call.result(a + scale * x / y)


@lower("clamp", "clamp.Tensor", "clamp_min", "clamp_min.Tensor", "clamp_max", "clamp_max.Tensor")
def _clamp(call: Call, self: Value, *limits: Any) -> Value:
    low, high = limits if len(limits) == 2 else (None, *limits) if "max" in call.name else (*limits, None)
    (x,) = operands_of(call, (self,))
    if low is not None:
        x = jnp.maximum(x, *operands_of(call, (low,)))
    if high is not None:
        x = jnp.minimum(x, *operands_of(call, (high,)))
    return call.result(x)
