"""Derivatives of rounding, which vanish, and of the parts of floating-point numbers."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops

from ..rules import derivative, zero
from ._parts import written_times

for _name in ("ceil", "floor", "trunc", "round", "round.decimals"):
    derivative(_name, self=zero)
derivative("frac", self=lambda grad: grad)
derivative("frexp.Tensor", self=lambda grad, result1: grad / ops.exp2(result1))


def _copysign(grad: Any, self: Any, result: Any) -> Any:
    """grad, negated where the sign was changed; zero at zero."""
    return grad * ops.where(self == 0, 0, result / self)


derivative("copysign.Tensor", self=_copysign, other=written_times(1, zero))
derivative("copysign.Scalar", self=_copysign)
derivative(
    "nextafter",
    self=lambda grad, self, other: ops.where(self == other, 0, grad),
    other=written_times(1, zero),
)
