"""Derivatives of elementwise arithmetic and of elementary functions."""

from __future__ import annotations

from ..rules import derivative
from ._conjugate import conj

derivative(
    "add.Tensor",
    self=lambda grad: grad,
    other=lambda grad, alpha: scaled(grad, alpha),
)
derivative(
    "sub.Tensor",
    self=lambda grad: grad,
    other=lambda grad, alpha: -scaled(grad, alpha),
)
derivative(
    "mul.Tensor",
    self=lambda grad, other: grad * conj(other),
    other=lambda grad, self: grad * conj(self),
)
derivative(
    "div.Tensor",
    self=lambda grad, other: grad / conj(other),
    other=lambda grad, self, other: -grad * conj((self / other) / other),
)
derivative("neg", self=lambda grad: -grad)
derivative("exp", self=lambda grad, result: grad * conj(result))


def scaled(grad, alpha):
    """``conj(alpha) * grad``, where `alpha` is mostly 1."""
    return grad if alpha == 1 else grad * conj(alpha)
