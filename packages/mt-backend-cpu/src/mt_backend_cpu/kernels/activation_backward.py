"""Derivatives of activation functions over NumPy; each gets the gradient first."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mt_core.checks.activation import refuse_falling, refuse_leaky

from ..blocks import blockwise, constant
from ..registry import kernel
from ..special_functions.erf import erf_of_scaled
from .activation import GELU_CUBIC, GELU_SCALE, converted, sigmoid


@kernel("sigmoid_backward")
def sigmoid_backward(grad: Any, output: Any) -> Any:
    """grad (*), output (*), broadcast -> the common shape."""
    return grad * np.conjugate((1 - output) * output)


@kernel("tanh_backward")
def tanh_backward(grad: Any, output: Any) -> Any:
    """grad (*), output (*), broadcast -> the common shape."""
    return grad * np.conjugate(1 - output * output)


@kernel("silu_backward")
def silu_backward(grad: Any, self: Any) -> Any:
    """grad (*), self (*), broadcast -> the common shape."""
    s = sigmoid(self)
    return grad * np.conjugate(s * (1 + self * (1 - s)))


@kernel("mish_backward")
def mish_backward(grad: Any, self: Any) -> Any:
    """grad (*), self (*), broadcast -> the common shape."""
    t = np.tanh(np.log1p(np.exp(self)))
    return grad * (t + self * sigmoid(self) * (1 - t * t))


@kernel("gelu_backward")
def gelu_backward(grad: Any, self: Any, approximate: str) -> Any:
    """grad (*), self (*), broadcast -> the common shape."""
    return gelu_tanh_backward(grad, self) if approximate == "tanh" else gelu_erf_backward(grad, self)


@blockwise
def gelu_erf_backward(grad: Any, x: Any) -> Any:
    result = erf_of_scaled(x)
    result += constant(1, x.dtype)
    result *= constant(0.5, x.dtype)
    density = x * x
    density *= constant(-0.5, x.dtype)
    np.exp(density, density)
    density *= x
    density *= constant(1 / math.sqrt(2 * math.pi), x.dtype)
    result += density
    result *= grad
    return result


@blockwise
def gelu_tanh_backward(grad: Any, x: Any) -> Any:
    square = x * x
    t = np.tanh(x * (GELU_SCALE + GELU_SCALE * GELU_CUBIC * square))
    slope = GELU_SCALE + 3 * GELU_SCALE * GELU_CUBIC * square
    return grad * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)


@kernel("softplus_backward")
def softplus_backward(grad: Any, self: Any, beta: Any, threshold: Any) -> Any:
    """grad (*), self (*), broadcast -> the common shape."""
    scaled = self * beta
    return np.where(scaled > threshold, grad, grad * sigmoid(scaled))


@kernel("log_sigmoid_backward")
def log_sigmoid_backward(grad: Any, self: Any, buffer: Any) -> Any:
    """grad (*), self (*), buffer (*), broadcast -> the common shape."""
    rest = buffer / (1 + buffer)
    return grad * np.where(self < 0, 1 - rest, rest)


@kernel("elu_backward")
def elu_backward(grad: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool, self_or_result: Any) -> Any:
    """grad (*), self_or_result (*), broadcast -> the common shape."""
    refuse_falling("elu", is_result, alpha)
    height = alpha * scale
    if is_result:
        falling = self_or_result + height
    else:
        falling = np.exp(self_or_result * input_scale) * height
    return grad * np.where(self_or_result <= 0, falling * input_scale, scale)


@kernel("logit_backward")
def logit_backward(grad: Any, self: Any, eps: float | None) -> Any:
    """grad (*), self (*), broadcast -> the common shape."""
    inside = grad / (self * (1 - self))
    if eps is None or eps < 0:
        return np.where((self < 0) | (self > 1), np.nan, inside)
    return np.where((self < eps) | (self > 1 - eps), 0, inside)


# Piecewise linear ones


_BITS = {4: np.int32, 8: np.int64}


def _zeroed(without: Any, values: Any) -> Any:
    """`values` (*), and zeros where `without` (*) of bool, broadcast, is true.

    NumPy multiplies ten times faster than it chooses: bits of a number times 1 or 0 are the number, be it NaN, or 0.
    """
    d = values.dtype
    if not without.ndim or d.kind != "f" or d.itemsize not in _BITS:
        return np.where(without, d.type(0), values)
    return (values.view(_BITS[d.itemsize]) * np.logical_not(without)).view(d)


@kernel("threshold_backward")
def threshold_backward(grad: Any, self: Any, threshold: Any) -> Any:
    """grad (*), self (*), broadcast -> the common shape."""
    return _zeroed(self <= converted(threshold, self), grad)


@kernel("hardtanh_backward")
def hardtanh_backward(grad: Any, self: Any, min_val: Any, max_val: Any) -> Any:
    """grad (*), self (*), broadcast -> the common shape."""
    return _zeroed((self <= min_val) | (self >= max_val), grad)


#: PyTorch's constant has the digits of float32 for all dtypes.
_SIXTH = float(np.float32(1 / 6))


@kernel("hardsigmoid_backward")
def hardsigmoid_backward(grad: Any, self: Any) -> Any:
    """grad (*), self (*), broadcast -> the common shape."""
    return np.where((self > -3) & (self < 3), grad * _SIXTH, 0)


@kernel("hardswish_backward")
def hardswish_backward(grad: Any, self: Any) -> Any:
    """grad (*), self (*), broadcast -> the common shape."""
    return np.where(self <= -3, 0, np.where(self < 3, grad * (self / 3 + 0.5), grad))


@kernel("leaky_relu_backward")
def leaky_relu_backward(grad: Any, self: Any, negative_slope: Any, self_is_result: bool) -> Any:
    """grad (*), self (*), broadcast -> the common shape."""
    refuse_leaky(self_is_result, negative_slope)
    return np.where(self > 0, grad, grad * negative_slope)


@kernel("softshrink_backward", "hardshrink_backward")
def shrink_backward(grad: Any, self: Any, lambd: Any) -> Any:
    """grad (*), self (*), broadcast -> the common shape."""
    return np.where((self >= -lambd) & (self <= lambd), 0, grad)


@kernel("_prelu_kernel_backward")
def prelu_backward(grad: Any, self: Any, weight: Any) -> tuple[Any, Any]:
    """grad (*), self (*), weight (*), broadcast -> gradients of self and of weight, both of the common shape."""
    positive = self > 0
    return np.where(positive, grad, weight * grad), np.where(positive, 0, self * grad)


@kernel("glu_backward")
def glu_backward(grad: Any, self: Any, dim: int) -> Any:
    """grad (*, N, *), self (*, 2 N, *) -> (*, 2 N, *)."""
    value, gate = np.split(self, 2, axis=dim)
    s = sigmoid(gate)
    return np.concatenate([grad * s, grad * value * s * (1 - s)], axis=dim)
