"""Activation functions for backends that have kernels for ``exp``, ``erf``, ``where`` and arithmetic alone."""

from __future__ import annotations

import math
from typing import Any

from ..api import _functions as ops
from ..checks.activation import refuse_falling, refuse_leaky
from ..dispatch.registry import register_composite as composite
from ._stand_ins import beside, not_for
from .elementwise_exponential import is_near_zero, tanh_near_zero


@composite("sigmoid", explicit=True)
def sigmoid(self: Any) -> Any:
    return ops.reciprocal(ops.add(ops.exp(ops.neg(self)), 1))


@composite("sigmoid_backward", explicit=True)
def sigmoid_backward(grad_output: Any, output: Any) -> Any:
    slope = ops.mul(ops.rsub(output, 1), output)
    return ops.mul(grad_output, ops._conj_physical(slope) if output.dtype.is_complex else slope)


@composite("tanh", explicit=True)
def tanh(self: Any) -> Any:
    """1 - 2 / (exp(2x) + 1) but near 0, where that would cancel: at most 4.8 ulp off."""
    not_for("tanh", self.dtype, self.dtype.is_complex)
    far = ops.rsub(ops.mul(ops.reciprocal(ops.add(ops.exp(ops.mul(self, 2)), 1)), 2), 1)
    return ops.where(is_near_zero(self, 0.5), tanh_near_zero(self), far)


@composite("tanh_backward", explicit=True)
def tanh_backward(grad_output: Any, output: Any) -> Any:
    not_for("tanh_backward", output.dtype, output.dtype.is_complex)
    return ops.mul(grad_output, ops.rsub(ops.mul(output, output), 1))


@composite("silu", explicit=True)
def silu(self: Any) -> Any:
    return ops.mul(self, ops.sigmoid(self))


@composite("silu_backward", explicit=True)
def silu_backward(grad_output: Any, self: Any) -> Any:
    gate = ops.sigmoid(self)
    slope = ops.add(ops.mul(self, ops.rsub(gate, 1)), 1)
    return ops.mul(grad_output, ops.mul(gate, slope))


def _gate(x: Any, approximate: str) -> Any:
    """What x is multiplied by: the normal distribution function, or the logistic function that is near it.

    0.5 (1 + tanh(u)) is 1 / (1 + exp(-2u)).
    """
    if approximate == "tanh":
        inner = ops.mul(ops.mul(ops.add(ops.mul(ops.mul(x, x), 0.044715), 1), x), math.sqrt(2 / math.pi))
        return ops.sigmoid(ops.mul(inner, 2))
    return ops.mul(ops.add(ops.erf(ops.mul(x, math.sqrt(0.5))), 1), 0.5)


@composite("gelu", explicit=True)
def gelu(self: Any, approximate: str) -> Any:
    return ops.mul(self, _gate(self, approximate))


@composite("gelu_backward", explicit=True)
def gelu_backward(grad_output: Any, self: Any, approximate: str) -> Any:
    gate, square = _gate(self, approximate), ops.mul(self, self)
    if approximate == "tanh":
        inner = ops.mul(ops.add(ops.mul(square, 3 * 0.044715), 1), 2 * math.sqrt(2 / math.pi))
        slope = ops.mul(ops.mul(gate, ops.rsub(gate, 1)), inner)
    else:
        slope = ops.mul(ops.exp(ops.mul(square, -0.5)), math.sqrt(0.5 / math.pi))
    return ops.mul(grad_output, ops.add(gate, ops.mul(self, slope)))


@composite("softplus", explicit=True)
def softplus(self: Any, beta: Any, threshold: Any) -> Any:
    scaled = ops.mul(self, beta)
    return ops.where(ops.gt(scaled, threshold), self, ops.div(ops.log1p(ops.exp(scaled)), beta))


@composite("softplus_backward", explicit=True)
def softplus_backward(grad_output: Any, self: Any, beta: Any, threshold: Any) -> Any:
    scaled = ops.mul(self, beta)
    return ops.where(ops.gt(scaled, threshold), grad_output, ops.mul(grad_output, ops.sigmoid(scaled)))


# Piecewise linear ones


@composite("relu", explicit=True)
def relu(self: Any) -> Any:
    return ops.clamp_min(self, 0)


@composite("threshold_backward", explicit=True)
def threshold_backward(grad_output: Any, self: Any, threshold: Any) -> Any:
    return ops.where(ops.le(self, threshold), 0, grad_output)


@composite("leaky_relu", explicit=True)
def leaky_relu(self: Any, negative_slope: Any) -> Any:
    return ops.where(ops.gt(self, 0), self, ops.mul(self, negative_slope))


@composite("leaky_relu_backward", explicit=True)
def leaky_relu_backward(grad_output: Any, self: Any, negative_slope: Any, self_is_result: bool) -> Any:
    refuse_leaky(self_is_result, negative_slope)
    return ops.where(ops.gt(self, 0), grad_output, ops.mul(grad_output, negative_slope))


@composite("hardtanh", explicit=True)
def hardtanh(self: Any, min_val: Any, max_val: Any) -> Any:
    return ops.minimum(ops.maximum(self, beside(min_val, self)), beside(max_val, self))


@composite("hardtanh_backward", explicit=True)
def hardtanh_backward(grad_output: Any, self: Any, min_val: Any, max_val: Any) -> Any:
    limited = ops.logical_or(ops.le(self, min_val), ops.ge(self, max_val))
    return ops.where(limited, 0, grad_output)


@composite("elu", explicit=True)
def elu(self: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    falling = ops.mul(ops.expm1(ops.mul(self, input_scale)), alpha * scale)
    return ops.where(ops.le(self, 0), falling, ops.mul(self, scale))


@composite("elu_backward", explicit=True)
def elu_backward(
    grad_output: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool, self_or_result: Any
) -> Any:
    refuse_falling("elu", is_result, alpha)
    height = alpha * scale
    if is_result:
        falling = ops.add(self_or_result, height)
    else:
        falling = ops.mul(ops.exp(ops.mul(self_or_result, input_scale)), height)
    slope = ops.where(ops.le(self_or_result, 0), ops.mul(falling, input_scale), scale)
    return ops.mul(grad_output, slope)


# The logarithm of the logistic function, and gates


@composite("log_sigmoid_forward", explicit=True)
def log_sigmoid_forward(self: Any) -> tuple[Any, Any]:
    """self (*) -> min(self, 0) - log(1 + exp(-abs(self))), and the exponential in it."""
    decay = ops.exp(ops.neg(ops.abs(self)))
    return ops.sub(ops.clamp_max(self, 0), ops.log1p(decay)), decay


@composite("log_sigmoid_backward", explicit=True)
def log_sigmoid_backward(grad_output: Any, self: Any, buffer: Any) -> Any:
    rest = ops.div(buffer, ops.add(buffer, 1))
    return ops.mul(grad_output, ops.where(ops.lt(self, 0), ops.rsub(rest, 1), rest))


@composite("mish", explicit=True)
def mish(self: Any) -> Any:
    return ops.mul(self, ops.tanh(ops.log1p(ops.exp(self))))


@composite("mish_backward", explicit=True)
def mish_backward(grad_output: Any, self: Any) -> Any:
    t = ops.tanh(ops.log1p(ops.exp(self)))
    bend = ops.mul(ops.mul(self, ops.sigmoid(self)), ops.rsub(ops.mul(t, t), 1))
    return ops.mul(grad_output, ops.add(t, bend))


@composite("glu", explicit=True)
def glu(self: Any, dim: int) -> Any:
    """self (*L, 2N, *R) -> (*L, N, *R): the first half of `dim` times the sigmoid of the second."""
    value, gate = self.chunk(2, dim)
    return ops.mul(value, ops.sigmoid(gate))


@composite("glu_backward", explicit=True)
def glu_backward(grad_output: Any, self: Any, dim: int) -> Any:
    """grad_output (*L, N, *R), self (*L, 2N, *R) -> like self."""
    value, gate = self.chunk(2, dim)
    s = ops.sigmoid(gate)
    to_value = ops.mul(grad_output, s)
    return ops.cat([to_value, ops.mul(ops.mul(to_value, value), ops.rsub(s, 1))], dim)
