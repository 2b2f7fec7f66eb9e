"""Operators on integers, which have no derivatives."""

from __future__ import annotations

from ..rules import non_differentiable

non_differentiable(
    "bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor", "bitwise_not", "bitwise_left_shift.Tensor",
    "bitwise_right_shift.Tensor", "gcd", "lcm",
)  # fmt: skip
