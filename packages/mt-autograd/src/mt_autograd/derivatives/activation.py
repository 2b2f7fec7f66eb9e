"""Derivatives of activation functions."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops

from ..rules import derivative, joint_derivative, real_only

derivative("relu", self=lambda grad, result: ops.threshold_backward(grad, result, 0))
derivative("sigmoid", self=lambda grad, result: ops.sigmoid_backward(grad, result))
derivative("tanh", self=lambda grad, result: ops.tanh_backward(grad, result))
derivative("gelu", self=lambda grad, self, approximate: ops.gelu_backward(grad, self, approximate=approximate))
derivative("silu", self=lambda grad, self: ops.silu_backward(grad, self))
real_only("silu")
derivative("mish", self=lambda grad, self: ops.mish_backward(grad, self))
derivative("softplus", self=lambda grad, self, beta, threshold: ops.softplus_backward(grad, self, beta, threshold))
derivative(
    "elu",
    self=lambda grad, self, alpha, scale, input_scale: ops.elu_backward(grad, alpha, scale, input_scale, False, self),
)
derivative("celu", self=lambda grad, self, alpha: ops.elu_backward(grad, alpha, 1, 1 / alpha, False, self))
derivative(
    "log_sigmoid_forward", node="LogSigmoidBackward0", differentiable_outputs=(True, False),
    self=lambda grad, self, result1: ops.log_sigmoid_backward(grad, self, result1),
)  # fmt: skip
derivative(
    "elu_", node="EluBackward1",
    self=lambda grad, result, alpha, scale, input_scale: ops.elu_backward(
        grad, alpha, scale, input_scale, True, result
    ),
)  # fmt: skip
derivative(
    "celu_", node="CeluBackward1",
    self=lambda grad, result, alpha: ops.elu_backward(grad, alpha, 1, 1 / alpha, True, result),
)  # fmt: skip
derivative("logit", self=lambda grad, self, eps: ops.logit_backward(grad, self, eps))

derivative("hardtanh", self=lambda grad, self, min_val, max_val: ops.hardtanh_backward(grad, self, min_val, max_val))
derivative("hardsigmoid", self=lambda grad, self: ops.hardsigmoid_backward(grad, self))
derivative("hardswish", self=lambda grad, self: ops.hardswish_backward(grad, self))
derivative(
    "leaky_relu", self=lambda grad, self, negative_slope: ops.leaky_relu_backward(grad, self, negative_slope, False)
)
derivative(
    "leaky_relu_", node="LeakyReluBackward1",
    self=lambda grad, result, negative_slope: ops.leaky_relu_backward(grad, result, negative_slope, True),
)  # fmt: skip
derivative("threshold", self=lambda grad, self, threshold: ops.threshold_backward(grad, self, threshold))
derivative(
    "threshold_", node="ThresholdBackward1",
    self=lambda grad, self, threshold: ops.threshold_backward(grad, self, threshold),
)  # fmt: skip
derivative("softshrink", self=lambda grad, self, lambd: ops.softshrink_backward(grad, self, lambd))
derivative("hardshrink", self=lambda grad, self, lambd: ops.hardshrink_backward(grad, self, lambd))
joint_derivative(
    "_prelu_kernel", ("self", "weight"), lambda grad, self, weight: ops._prelu_kernel_backward(grad, self, weight)
)  # fmt: skip
derivative(
    "rrelu_with_noise",
    self=lambda grad, self, noise, lower, upper, training: ops.rrelu_with_noise_backward(
        grad, self, noise, lower, upper, training, False
    ),
)
derivative(
    "rrelu_with_noise_functional",
    self=lambda grad, self, result1, lower, upper, training: ops.rrelu_with_noise_backward(
        grad, self, result1, lower, upper, training, False
    ),
    differentiable_outputs=(True, False),
)
derivative("glu", self=lambda grad, self, dim: ops.glu_backward(grad, self, dim))


# Softmax


def _softmax(grad: Any, result: Any, dim: int, self_spec: Any) -> Any:
    return ops._softmax_backward_data(grad, result, dim, self_spec.dtype)


def _log_softmax(grad: Any, result: Any, dim: int, self_spec: Any) -> Any:
    return ops._log_softmax_backward_data(grad, result, dim, self_spec.dtype)


def _softmax_backward_output(grad: Any, grad_output: Any, output: Any, dim: int) -> Any:
    """Of output * (grad_output - sum(grad_output * output))."""
    inner = (grad_output * output).sum(dim, keepdim=True)
    return grad * (grad_output - inner) - grad_output * (grad * output).sum(dim, keepdim=True)


derivative(
    "_softmax",
    self=_softmax,
    forward={"self": lambda t, result, dim: result * (t - (t * result).sum(dim, keepdim=True))},
)
derivative(
    "_log_softmax",
    self=_log_softmax,
    forward={"self": lambda t, result, dim: t - (t * result.exp()).sum(dim, keepdim=True)},
)
real_only("_softmax", "_log_softmax")
derivative(
    "_softmax_backward_data",
    grad_output=lambda grad, output, dim, input_dtype: ops._softmax_backward_data(grad, output, dim, input_dtype),
    output=_softmax_backward_output,
)
derivative(
    "_log_softmax_backward_data",
    grad_output=lambda grad, output, dim: grad - (grad * ops.exp(output)).sum(dim, keepdim=True),
    output=lambda grad, grad_output, output, dim: -grad * ops.exp(output) * grad_output.sum(dim, keepdim=True),
)
derivative(
    "_masked_softmax", self=lambda grad, result, mask, dim: ops._masked_softmax_backward(grad, result, mask, dim)
)
derivative(
    "_masked_softmax_backward",
    grad_output=lambda grad, output, mask, dim: ops._masked_softmax_backward(grad, output, mask, dim),
    output=lambda grad, grad_output, output, mask, dim: ops.where(
        mask, 0, _softmax_backward_output(grad, grad_output, output, -1 if dim is None else dim)
    ),
)
