"""Second derivatives of activation functions: derivatives of their ``*_backward`` operators.

Those are linear in the gradient they get (`grad_output`), so with respect to it their derivative is themselves.
"""

from __future__ import annotations

import math
from typing import Any

from mt_core.api import _functions as ops

from ..rules import derivative, joint_derivative, zero
from ._conjugate import conj
from .comparison import chosen

derivative(
    "sigmoid_backward",
    grad_output=lambda grad, output: ops.sigmoid_backward(grad, conj(output)),
    output=lambda grad, grad_output, output: conj(grad) * grad_output * (1 - 2 * conj(output)),
)
derivative(
    "tanh_backward",
    grad_output=lambda grad, output: ops.tanh_backward(grad, conj(output)),
    output=lambda grad, grad_output, output: conj(grad) * grad_output * (-2 * conj(output)),
)


def _silu(grad: Any, grad_output: Any, self: Any) -> Any:
    x = conj(self)
    s = ops.sigmoid(x)
    return conj(grad) * grad_output * (s * (1 - s) * (2 + x * (1 - 2 * s)))


derivative("silu_backward", grad_output=lambda grad, self: ops.silu_backward(grad, conj(self)), self=_silu)


def _mish(grad: Any, grad_output: Any, self: Any) -> Any:
    s, t = ops.sigmoid(self), ops.tanh(ops.softplus(self))
    return grad * grad_output * (s * (1 - t * t) * (2 + self * (1 - s) - 2 * self * t * s))


derivative("mish_backward", grad_output=lambda grad, self: ops.mish_backward(grad, self), self=_mish)


def _gelu(grad: Any, grad_output: Any, self: Any, approximate: str) -> Any:
    second = _gelu_tanh_second(self) if approximate == "tanh" else _gelu_second(self)
    return grad * grad_output * second


def _gelu_second(x: Any) -> Any:
    square = x * x
    return ops.exp(square * -0.5) * (2 - square) / math.sqrt(2 * math.pi)


def _gelu_tanh_second(x: Any) -> Any:
    scale, cubic = math.sqrt(2 / math.pi), 0.044715
    square = x * x
    t = ops.tanh(scale * x * (1 + cubic * square))
    slope, curvature = scale * (1 + 3 * cubic * square), 6 * scale * cubic * x
    return (1 - t * t) * (slope + 0.5 * x * curvature - x * t * slope * slope)


derivative(
    "gelu_backward",
    grad_output=lambda grad, self, approximate: ops.gelu_backward(grad, self, approximate=approximate),
    self=_gelu,
)


def _softplus(grad: Any, grad_output: Any, self: Any, beta: Any, threshold: Any) -> Any:
    s = ops.sigmoid(self * beta)
    return ops.where(self * beta >= threshold, 0, grad * grad_output * (beta * s * (1 - s)))


derivative(
    "softplus_backward",
    grad_output=lambda grad, self, beta, threshold: ops.softplus_backward(grad, self, beta, threshold),
    self=_softplus,
)


def _log_sigmoid(grad: Any, grad_output: Any, self: Any) -> Any:
    s = ops.sigmoid(self)
    return -grad * grad_output * s * (1 - s)


derivative(
    "log_sigmoid_backward",
    grad_output=lambda grad, self, buffer: ops.log_sigmoid_backward(grad, self, buffer),
    self=_log_sigmoid,
)


def _elu(
    grad: Any, grad_output: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool, self_or_result: Any
) -> Any:
    falling = self_or_result < 0
    if is_result:
        return chosen(grad * grad_output * input_scale, falling)
    curvature = ops.exp(self_or_result * input_scale) * (alpha * scale * input_scale * input_scale)
    return chosen(grad * grad_output * curvature, falling)


derivative(
    "elu_backward",
    grad_output=lambda grad, alpha, scale, input_scale, is_result, self_or_result: ops.elu_backward(
        grad, alpha, scale, input_scale, is_result, self_or_result
    ),
    self_or_result=_elu,
)


def _logit(grad: Any, grad_output: Any, self: Any, eps: float | None) -> Any:
    """The derivative of ``grad_output / (self * (1 - self))`` where logit is defined; NaN at 0 and 1 as in PyTorch."""
    low = 0.0 if eps is None or eps < 0 else eps
    product, other = self * (1 - self), 1 - self
    to_product = -chosen(grad, (self >= low) & (self <= 1 - low)) * (grad_output / product / product)
    return to_product * other - to_product * self


derivative("logit_backward", grad_output=lambda grad, self, eps: ops.logit_backward(grad, self, eps), self=_logit)


# Piecewise linear ones have no curvature

derivative(
    "threshold_backward",
    grad_output=lambda grad, self, threshold: ops.threshold_backward(grad, self, threshold),
    self=zero,
)
derivative(
    "hardtanh_backward",
    grad_output=lambda grad, self, min_val, max_val: ops.hardtanh_backward(grad, self, min_val, max_val),
    self=zero,
)
derivative("hardsigmoid_backward", grad_output=lambda grad, self: ops.hardsigmoid_backward(grad, self), self=zero)
derivative(
    "hardswish_backward",
    grad_output=lambda grad, self: ops.hardswish_backward(grad, self),
    self=lambda grad, grad_output, self: chosen(grad * grad_output / 3, (self > -3) & (self < 3)),
)
derivative(
    "leaky_relu_backward",
    grad_output=lambda grad, self, negative_slope: ops.leaky_relu_backward(grad, self, negative_slope, False),
    self=zero,
)
derivative(
    "softshrink_backward",
    grad_output=lambda grad, self, lambd: ops.softshrink_backward(grad, self, lambd),
    self=zero,
)
derivative(
    "hardshrink_backward", grad_out=lambda grad, self, lambd: ops.hardshrink_backward(grad, self, lambd), self=zero
)
derivative(
    "rrelu_with_noise_backward",
    grad_output=lambda grad, self, noise, lower, upper, training: ops.rrelu_with_noise_backward(
        grad, self, noise, lower, upper, training, False
    ),
    self=zero,
)


def _prelu(grads: Any, mask: Any, grad_output: Any, self: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Of (grad_output or weight * grad_output, 0 or self * grad_output), where self is at least 0 or not."""
    positive = self >= 0  # in second derivatives 0 counts as positive, as in PyTorch
    to_self, to_weight = (ops.zeros_like(grad_output) if g is None else g for g in grads)
    return (
        ops.where(positive, to_self, weight * to_self + self * to_weight),
        ops.where(positive, 0, to_weight * grad_output),
        ops.where(positive, 0, to_self * grad_output),
    )


joint_derivative("_prelu_kernel_backward", ("grad_output", "self", "weight"), _prelu)


def _glu_grad_output(grad: Any, self: Any, dim: int) -> Any:
    to_value, to_gate = grad.chunk(2, dim)
    value, gate = self.chunk(2, dim)
    s = ops.sigmoid(gate)
    return to_value * s + to_gate * value * s * (1 - s)


def _glu_self(grad: Any, grad_output: Any, self: Any, dim: int) -> Any:
    to_value, to_gate = grad.chunk(2, dim)
    value, gate = self.chunk(2, dim)
    s = ops.sigmoid(gate)
    slope = s * (1 - s) * grad_output
    return ops.cat([to_gate * slope, to_value * slope + to_gate * value * slope * (1 - 2 * s)], dim)


derivative("glu_backward", grad_output=_glu_grad_output, self=_glu_self)
