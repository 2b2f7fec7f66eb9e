"""Bits and divisors of integers over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import kernel, kernels

kernels({
    "bitwise_and.Tensor": np.bitwise_and, "bitwise_or.Tensor": np.bitwise_or, "bitwise_xor.Tensor": np.bitwise_xor,
    "bitwise_not": np.invert, "gcd": np.gcd, "lcm": np.lcm,
})  # fmt: skip


def _out_of_range(shift: Any, d: np.dtype) -> Any:
    """Where a shift (an array or a number) is negative or as wide as the type, modulo which machines take it."""
    return (shift < 0) | (shift >= d.itemsize * 8)


@kernel("bitwise_left_shift.Tensor")
def left_shift(self: Any, other: Any) -> Any:
    """self (*), other (*), broadcast -> the common shape."""
    return np.where(_out_of_range(other, self.dtype), self.dtype.type(0), np.left_shift(self, other))


@kernel("bitwise_right_shift.Tensor")
def right_shift(self: Any, other: Any) -> Any:
    """self (*), other (*), broadcast -> the common shape.

    Moves copies of the sign bit in, all of them when the shift is out of range.
    """
    sign = np.where(self < 0, self.dtype.type(-1), self.dtype.type(0)) if self.dtype.kind == "i" else self.dtype.type(0)
    return np.where(_out_of_range(other, self.dtype), sign, np.right_shift(self, other))
