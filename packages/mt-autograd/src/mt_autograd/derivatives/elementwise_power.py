"""Derivatives of powers and roots."""

from __future__ import annotations

import cmath
import math
from typing import Any

from mt_core.api import _functions as ops

from ..rules import derivative
from ._conjugate import conj


def _power_base_of_number(grad: Any, self: Any, exponent: Any) -> Any:
    if exponent == 0:
        return ops.zeros_like(self)
    return grad * conj(exponent * ops.pow(self, exponent - 1))


def _power_base(grad: Any, self: Any, exponent: Any) -> Any:
    return ops.where(exponent == 0, 0, grad * conj(exponent * ops.pow(self, exponent - 1)))


def _is_nonnegative(exponent: Any) -> Any:
    if exponent.is_complex():
        return ops.logical_and(ops.imag(exponent) == 0, ops.real(exponent) >= 0)
    return exponent >= 0


def _power_exponent(grad: Any, self: Any, exponent: Any, result: Any) -> Any:
    """result * log(self), which for a zero base is zero, not NaN, where the exponent is not negative."""
    flat = ops.logical_and(self == 0, _is_nonnegative(exponent))
    # Of a complex power the logarithm is the complex one, which negative bases have.
    return grad * conj(ops.where(flat, 0, result * ops.log(self.to(result.dtype))))


def _log_of_number(number: Any, is_complex: bool) -> Any:
    if is_complex:
        return cmath.log(number)
    return math.log(number) if number > 0 else -math.inf if number == 0 else math.nan


def _power_exponent_of_number(grad: Any, self: Any, exponent: Any, result: Any) -> Any:
    if self == 0:
        return grad * conj(ops.where(_is_nonnegative(exponent), 0, result * -math.inf))
    return grad * conj(result * _log_of_number(self, result.is_complex()))


derivative("pow.Tensor_Scalar", self=_power_base_of_number)
derivative("pow.Tensor_Tensor", self=_power_base, exponent=_power_exponent)
derivative("pow.Scalar", exponent=_power_exponent_of_number)
derivative("sqrt", self=lambda grad, result: grad / (2 * conj(result)))
derivative("rsqrt", self=lambda grad, result: -0.5 * grad * conj(ops.pow(result, 3)))
derivative("reciprocal", self=lambda grad, result: -grad * conj(result * result))
derivative(
    "hypot",
    self=lambda grad, self, result: grad * (self / result),
    other=lambda grad, other, result: grad * (other / result),
)
derivative(
    "ldexp.Tensor",
    self=lambda grad, other: grad * conj(ops.pow(2.0, other)),
    other=lambda grad, result: grad * conj(result * math.log(2)),
)
