"""Derivatives of exponentials, logarithms, trigonometric and hyperbolic functions."""

from __future__ import annotations

import math
from typing import Any

from mt_core.api import _functions as ops

from ..rules import derivative
from ._conjugate import conj

LN2, LN10 = math.log(2), math.log(10)

derivative("exp", self=lambda grad, result: grad * conj(result))
derivative("exp2", self=lambda grad, result: grad * conj(result) * LN2)
derivative("expm1", self=lambda grad, result: grad * conj(result + 1))
derivative("log", self=lambda grad, self: grad / conj(self))
derivative("log2", self=lambda grad, self: grad / conj(self * LN2))
derivative("log10", self=lambda grad, self: grad / conj(self * LN10))
derivative("log1p", self=lambda grad, self: grad / conj(self + 1))

derivative("sin", self=lambda grad, self: grad * conj(ops.cos(self)))
derivative("cos", self=lambda grad, self: grad * -conj(ops.sin(self)))
derivative("tan", self=lambda grad, result: grad * conj(1 + result * result))
derivative("asin", self=lambda grad, self: grad * conj(ops.rsqrt(1 - self * self)))
derivative("acos", self=lambda grad, self: grad * -conj(ops.rsqrt(1 - self * self)))
derivative("atan", self=lambda grad, self: grad / conj(self * self + 1))
derivative("sinh", self=lambda grad, self: grad * conj(ops.cosh(self)))
derivative("cosh", self=lambda grad, self: grad * conj(ops.sinh(self)))
derivative("asinh", self=lambda grad, self: grad * conj(ops.rsqrt(self * self + 1)))
derivative("atanh", self=lambda grad, self: grad / conj(1 - self * self))


def _acosh(grad: Any, self: Any) -> Any:
    if self.is_complex():  # the root of the product is another one where the real part is negative
        return grad * conj(ops.rsqrt(self + 1) * ops.rsqrt(self - 1))
    return grad * ops.rsqrt(self * self - 1)


derivative("acosh", self=_acosh)


def _inverse_square(self: Any, other: Any) -> Any:
    """1 / (self^2 + other^2), and 0 at the origin, where the angle has no derivative."""
    square = self * self + other * other
    return square.reciprocal().masked_fill(square == 0, 0)


derivative(
    "atan2",
    self=lambda grad, self, other: grad * (other * _inverse_square(self, other)),
    other=lambda grad, self, other: grad * (-self * _inverse_square(self, other)),
)
derivative(
    "logaddexp",
    self=lambda grad, self, other: grad / conj(1 + ops.exp(other - self)),
    other=lambda grad, self, other: grad / conj(1 + ops.exp(self - other)),
)
derivative(
    "logaddexp2",
    self=lambda grad, self, other: grad / (1 + ops.exp2(other - self)),
    other=lambda grad, self, other: grad / (1 + ops.exp2(self - other)),
)
derivative("deg2rad", self=lambda grad: ops.deg2rad(grad))
derivative("rad2deg", self=lambda grad: ops.rad2deg(grad))
