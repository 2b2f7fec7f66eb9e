"""Derivatives of elementwise arithmetic."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.dispatch.writing import check_castable
from mt_core.dtypes import get_default_dtype

from ..rules import derivative, forward_rule, zero
from ._conjugate import conj
from ._refused import refused_operator


def scaled(grad: Any, factor: Any) -> Any:
    """``conj(factor) * grad``, where the number `factor` is mostly 1."""
    return grad if factor == 1 else grad * conj(factor)


derivative("add.Tensor", self=lambda grad: grad, other=lambda grad, alpha: scaled(grad, alpha))
derivative("add.Scalar", self=lambda grad: grad)
derivative("sub.Tensor", self=lambda grad: grad, other=lambda grad, alpha: -scaled(grad, alpha))
derivative("sub.Scalar", self=lambda grad: grad)
derivative("rsub.Tensor", self=lambda grad, alpha: -scaled(grad, alpha), other=lambda grad: grad)
derivative("rsub.Scalar", self=lambda grad, alpha: -scaled(grad, alpha))
derivative("mul.Tensor", self=lambda grad, other: grad * conj(other), other=lambda grad, self: grad * conj(self))
derivative("mul.Scalar", self=lambda grad, other: scaled(grad, other))
derivative(
    "div.Tensor",
    self=lambda grad, other: grad / conj(other),
    other=lambda grad, self, other: -grad * conj((self / other) / other),
)
derivative("div.Scalar", self=lambda grad, other: grad / conj(other))
derivative(
    "div.Tensor_mode",
    self=lambda grad, other, rounding_mode: grad / conj(other) if rounding_mode is None else zero(grad),
    other=lambda grad, self, other, rounding_mode: (
        -grad * conj((self / other) / other) if rounding_mode is None else zero(grad)
    ),
)
refused_operator("floor_divide", "self", "other")

derivative("remainder.Scalar", self=lambda grad: grad)
derivative(
    "remainder.Tensor",
    self=lambda grad: grad,
    other=lambda grad, self, other: -grad * ops.div(self, other, rounding_mode="floor"),
)
refused_operator("remainder.Scalar_Tensor", "other")
derivative("fmod.Scalar", self=lambda grad: grad)
derivative(
    "fmod.Tensor",
    self=lambda grad: grad,
    other=lambda grad, self, other: -grad * ops.div(self, other, rounding_mode="trunc"),
)

derivative("neg", self=lambda grad: -grad)
derivative("abs", self=lambda grad, self: grad * ops.sgn(self))
derivative("sign", self=zero)


def _sgn(grad: Any, self: Any, result: Any) -> Any:
    """What changes the modulus does not change the sign.

    Only the part of `grad` across the direction of `self` counts.
    """
    if not self.is_complex():
        return zero(grad)
    modulus = ops.abs(self)
    across = grad - result * ops.real(grad * conj(result))
    return ops.where(modulus == 0, 0, across / modulus)


derivative("sgn", self=_sgn)
derivative(
    "addcmul",
    self=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: scaled(grad * conj(tensor2), value),
    tensor2=lambda grad, tensor1, value: scaled(grad * conj(tensor1), value),
)


def _divided(grad: Any, tensor2: Any, value: Any) -> Any:
    """PyTorch divides `value` by tensor2 in place, which it refuses for integers, though it divides by them before."""
    if tensor2.dtype.category < 2:
        check_castable(get_default_dtype(), tensor2.dtype)
    return scaled(grad / conj(tensor2), value)


derivative(
    "addcdiv",
    self=lambda grad: grad,
    tensor1=_divided,
    tensor2=lambda grad, tensor1, tensor2, value: -scaled(grad * conj(tensor1 / (tensor2 * tensor2)), value),
)
derivative(
    "lerp.Scalar",
    self=lambda grad, weight: scaled(grad, 1 - weight),
    end=lambda grad, weight: scaled(grad, weight),
)
derivative(
    "lerp.Tensor",
    self=lambda grad, weight: grad * conj(1 - weight),
    end=lambda grad, weight: grad * conj(weight),
    weight=lambda grad, self, end: grad * conj(end - self),
)

forward_rule("linear", "mul.Scalar", "div.Scalar")
forward_rule({"self": lambda t: t}, "add.Scalar", "sub.Scalar")
