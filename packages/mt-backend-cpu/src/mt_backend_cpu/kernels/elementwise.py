"""Elementwise arithmetic over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from mt_core.checks.elementwise import refuse_division_by_zero
from mt_core.dispatch.kernel import Accepts

from ..blocks import blocks
from ..registry import into_first, kernel, kernels


def add_scaled_into(self: Any, other: Any, alpha: Any) -> None:
    for target, part in blocks(self, other):
        target += part * alpha


def subtract_scaled_into(self: Any, other: Any, alpha: Any) -> None:
    for target, part in blocks(self, other):
        target += part * negative(alpha)


@kernel("add.Tensor")
def add(self: Any, other: Any, alpha: Any) -> Any:
    """self (*), other (*), broadcast -> the common shape."""
    return self + scaled(other, alpha)


@kernel("sub.Tensor")
def sub(self: Any, other: Any, alpha: Any) -> Any:
    """self (*), other (*), broadcast -> the common shape."""
    return self + scaled(other, negative(alpha))


#: Nothing is scaled.
_ALPHA_1 = Accepts(defaults=("alpha",))
kernels({"add.Tensor": np.add, "sub.Tensor": np.subtract}, accepts=_ALPHA_1)
into_first(
    {"add_.Tensor": add_scaled_into, "sub_.Tensor": subtract_scaled_into},
    also=lambda self, other, alpha: alpha != 1 and abs(alpha) < 3e38,  # the rest is for the check of numbers to refuse
)


@kernel("rsub.Scalar")
def rsub(self: Any, other: Any, alpha: Any) -> Any:
    """self (*) -> (*)."""
    return np.add(other, scaled(self, negative(alpha)))


def negative(factor: Any) -> Any:
    """``-factor``, of integers in 64 bits, so that ``-2**63`` stays what it is."""
    return (-factor + (1 << 63)) % (1 << 64) - (1 << 63) if factor.__class__ is int else -factor


def scaled(array: Any, factor: Any) -> Any:
    """``factor * array`` in the array's dtype: integers wrap around, of bools it is the ``and``."""
    if factor.__class__ is int and factor == 1:
        return array
    return array * np.asarray(factor).astype(array.dtype)


kernels({"mul.Tensor": np.multiply, "div.Tensor": np.true_divide, "abs": np.absolute})


@kernel("neg", fills=True)
def neg(self: Any, out: Any = None) -> Any:
    """self (*) -> (*).

    NumPy 2's ``negative`` takes the elements that follow one another in memory where those of `self` lie 16 or 64 bytes
    apart and `out` has gaps as well; of what it allocates itself it is right.
    """
    result = np.negative(self)
    if out is None:
        return result
    np.copyto(out, result)
    return out


kernels({"neg": np.negative}, accepts=Accepts(layout="row_major"))


# Division with a remainder


def refuse_zero(dividend: Any, divisor: Any) -> None:
    """Division of integers by zero is an error, also where other elements could be divided."""
    if not (divisor if divisor.__class__ is int else np.all(divisor)) and dividend.size:
        refuse_division_by_zero()


@kernel("floor_divide")
def floor_divide(self: Any, other: Any) -> Any:
    """self (*), other (*), broadcast -> the common shape."""
    if self.dtype.kind in "iu":
        refuse_zero(self, other)
    return np.floor_divide(self, other)


# PyTorch rounds the quotient of half types before it truncates it, so it is computed in the storage type.
@kernel("div.Tensor_mode", half="native")
def div(self: Any, other: Any, rounding_mode: str | None) -> Any:
    """self (*), other (*), broadcast -> the common shape."""
    if rounding_mode is None:
        return np.true_divide(self, other)
    if rounding_mode == "floor":
        return floor_divide(self, other)
    if self.dtype.kind not in "iu":
        return np.trunc(np.true_divide(self, other))
    refuse_zero(self, other)
    return (self - np.fmod(self, other)) // other


@kernel("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(self: Any, other: Any) -> Any:
    """self (*), other (*), broadcast -> the common shape."""
    if self.dtype.kind in "iu":
        refuse_zero(self, other)
        return np.remainder(self, other)
    # NumPy's gives zeros the divisor's sign, PyTorch's the dividend's.
    left = np.fmod(self, other)
    return np.where((left != 0) & (np.less(other, 0) != (left < 0)), left + other, left)


@kernel("fmod.Tensor", "fmod.Scalar")
def fmod(self: Any, other: Any) -> Any:
    """self (*), other (*), broadcast -> the common shape."""
    if self.dtype.kind in "iu":
        refuse_zero(self, other)
    return np.fmod(self, other)


# Signs


@kernel("sign")
def sign(self: Any) -> Any:
    """self (*) -> (*)."""
    if self.dtype.kind == "b":
        return self.copy()
    return np.subtract(self > 0, self < 0, dtype=np.int8).astype(self.dtype)


@kernel("sgn")
def sgn(self: Any) -> Any:
    """self (*) -> (*)."""
    if self.dtype.kind != "c":
        return sign(self)
    modulus = np.abs(self)
    return np.where(modulus == 0, 0, self / modulus)


# Fused forms


def addcmul_into(self: Any, tensor1: Any, tensor2: Any, value: Any) -> None:
    for target, one, other in blocks(self, tensor1, tensor2):
        product = one * value
        product *= other
        target += product


def addcdiv_into(self: Any, tensor1: Any, tensor2: Any, value: Any) -> None:
    for target, one, other in blocks(self, tensor1, tensor2):
        quotient = one * value
        quotient /= other
        target += quotient


def lerp_into(self: Any, end: Any, weight: Any) -> None:
    for target, other in blocks(self, end):
        step = other - target
        if abs(weight) < 0.5:
            step *= weight
            target += step
        else:
            step *= 1 - weight
            np.subtract(other, step, out=target)


@kernel("addcmul")
def addcmul(self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    """self (*), tensor1 (*), tensor2 (*), broadcast -> the common shape."""
    return self + scaled(tensor1, value) * tensor2


@kernel("addcdiv")
def addcdiv(self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    """self (*), tensor1 (*), tensor2 (*), broadcast -> the common shape."""
    return self + scaled(tensor1, value) / tensor2


@kernel("lerp.Scalar", "lerp.Tensor")
def lerp(self: Any, end: Any, weight: Any) -> Any:
    """self (*), end (*), weight (*) or a number, broadcast -> the common shape.

    From whichever end is nearer, so that weights 0 and 1 give the ends themselves.
    """
    step = end - self
    if np.ndim(weight):
        return np.where(np.abs(weight) < 0.5, self + weight * step, end - step * (1 - weight))
    return self + step * weight if abs(weight) < 0.5 else end - step * (1 - weight)


into_first({"addcmul_": addcmul_into, "addcdiv_": addcdiv_into, "lerp_.Scalar": lerp_into})
