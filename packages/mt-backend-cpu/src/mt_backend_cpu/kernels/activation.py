"""Activation functions over NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..blocks import TINY, blockwise, constant, tiny
from ..registry import kernel, kernels
from ..special_functions.erf import erf_of_scaled
from .comparison import at_least
from .elementwise_power import in_single, rounded

kernels({"tanh": np.tanh})

SQRT_HALF = math.sqrt(0.5)
#: sqrt(2 / pi) and the cubic coefficient of the approximation of gelu by tanh.
GELU_SCALE, GELU_CUBIC = math.sqrt(2 / math.pi), 0.044715


@kernel("relu")
def relu(self: Any) -> Any:
    """self (*) -> (*)."""
    return at_least(self, 0)


def exp_of_minus_plus_1(self: Any) -> Any:
    """1 + exp(-self), fresh: for large negative numbers infinite, where nothing has cancelled."""
    result = np.negative(self)
    if result.__class__ is not np.ndarray:  # of an array without dimensions
        result = np.asarray(result)
    np.exp(result, result)
    return np.add(result, constant(1, result.dtype), result)


@kernel("sigmoid")
def sigmoid(self: Any) -> Any:
    """self (*) -> (*)."""
    denominator = exp_of_minus_plus_1(self)
    return np.reciprocal(denominator, denominator)


@kernel("silu")
def silu(self: Any) -> Any:
    """self (*) -> (*)."""
    denominator = exp_of_minus_plus_1(self)
    return np.divide(self, denominator, denominator)


# Smooth ones


@kernel("gelu")
def gelu(self: Any, approximate: str) -> Any:
    """self (*) -> (*)."""
    if approximate == "tanh":
        return gelu_tanh(self)
    return gelu_erf(self) if self.size > TINY else tiny(_gelu_of_number, self)


def _gelu_of_number(x: float) -> float:
    return 0.5 * x * (1 + math.erf(x * SQRT_HALF))


@blockwise
def gelu_erf(x: Any) -> Any:
    half = x * constant(0.5, x.dtype)
    result = erf_of_scaled(x)
    result *= half
    result += half
    return result


@blockwise
def gelu_tanh(x: Any) -> Any:
    half = x * constant(0.5, x.dtype)
    inner = x * x
    inner *= constant(GELU_CUBIC * GELU_SCALE, x.dtype)
    inner += constant(GELU_SCALE, x.dtype)
    inner *= x
    np.tanh(inner, inner)
    inner *= half
    inner += half
    return inner


@kernel("mish")
def mish(self: Any) -> Any:
    """self (*) -> (*)."""
    return self * np.tanh(np.log1p(np.exp(self)))


@kernel("softplus")
def softplus(self: Any, beta: Any, threshold: Any) -> Any:
    """self (*) -> (*)."""
    scaled = self * beta
    return np.where(scaled > threshold, self, np.log1p(np.exp(scaled)) / beta)


@kernel("elu")
def elu(self: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    """self (*) -> (*)."""
    return np.where(self <= 0, np.expm1(self * input_scale) * (alpha * scale), self * scale)


@kernel("celu")
def celu(self: Any, alpha: Any) -> Any:
    """self (*) -> (*)."""
    return elu(self, alpha, 1, 1 / alpha)


@kernel("log_sigmoid_forward")
def log_sigmoid_forward(self: Any) -> tuple[Any, Any]:
    """self (*) -> result (*), buffer (*): what backward needs, e^-|self|."""
    decay = np.exp(-np.abs(self))
    return np.minimum(self, 0) - np.log1p(decay), decay


@kernel("logit", half="native")
def logit(self: Any, eps: float | None) -> Any:
    """self (*) -> (*): half types round every step, as in PyTorch."""
    stored = self.dtype
    self = in_single(self)
    if eps is not None and eps >= 0:
        low = rounded(self.dtype.type(eps), stored)
        self = np.clip(self, low, rounded(1 - low, stored))
    return np.log(rounded(self / rounded(1 - self, stored), stored))


# Piecewise linear ones


def converted(number: Any, like: Any) -> Any:
    """A number in an array's dtype, where integers are truncated and wrap around."""
    return np.asarray(number).astype(like.dtype)


@kernel("hardtanh")
def hardtanh(self: Any, min_val: Any, max_val: Any) -> Any:
    """self (*) -> (*)."""
    low, high = converted(min_val, self), converted(max_val, self)
    return np.minimum(high, np.maximum(low, self))  # of equal zeros NumPy takes the second


def _ramp(self: Any) -> Any:
    """self + 3, limited to [0, 6]."""
    return np.minimum(np.maximum(self + 3, 0), 6)


@kernel("hardsigmoid")
def hardsigmoid(self: Any) -> Any:
    """self (*) -> (*)."""
    return _ramp(self) / 6


@kernel("hardswish")
def hardswish(self: Any) -> Any:
    """self (*) -> (*)."""
    return self * _ramp(self) / 6


@kernel("leaky_relu")
def leaky_relu(self: Any, negative_slope: Any) -> Any:
    """self (*) -> (*)."""
    if 0 < negative_slope <= 1:
        return np.maximum(self, self * negative_slope)
    return np.where(self > 0, self, self * negative_slope)


@kernel("threshold")
def threshold(self: Any, threshold: Any, value: Any) -> Any:
    """self (*) -> (*)."""
    return np.where(self <= converted(threshold, self), converted(value, self), self)


@kernel("softshrink")
def softshrink(self: Any, lambd: Any) -> Any:
    """self (*) -> (*)."""
    return np.where(self > lambd, self - lambd, np.where(self < -lambd, self + lambd, self * 0))


@kernel("hardshrink")
def hardshrink(self: Any, lambd: Any) -> Any:
    """self (*) -> (*)."""
    return np.where((self >= -lambd) & (self <= lambd), self.dtype.type(0), self)


@kernel("_prelu_kernel")
def prelu(self: Any, weight: Any) -> Any:
    """self (*), weight (*), broadcast -> the common shape."""
    return np.where(self > 0, self, weight * self)


@kernel("glu")
def glu(self: Any, dim: int) -> Any:
    """self (*, 2 N, *) -> (*, N, *), halved along `dim`."""
    value, gate = np.split(self, 2, axis=dim)
    return value * sigmoid(gate)
