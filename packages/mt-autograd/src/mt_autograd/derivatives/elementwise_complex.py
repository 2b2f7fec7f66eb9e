"""Derivatives of operators on complex numbers.

A gradient of a real loss L with respect to z = x + iy is dL/dx + i dL/dy.
"""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops

from ..rules import derivative, zero
from ._conjugate import conj


def _angle(grad: Any, self: Any) -> Any:
    if not self.is_complex():
        return zero(grad)
    squared = ops.abs(self) ** 2
    return ops.where(squared == 0, 0, grad * (1j * self) / squared)


derivative("angle", self=_angle)
derivative("_conj_physical", self=lambda grad: conj(grad))
derivative("conj_physical_", self=lambda grad: conj(grad), node="ConjPhysicalBackward1")
derivative("_conj", self=lambda grad: conj(grad))
derivative("_neg_view", self=lambda grad: -grad)
derivative("complex", real=lambda grad: ops.real(grad), imag=lambda grad: ops.imag(grad))
derivative(
    "polar",
    abs=lambda grad, result: ops.real(conj(grad) * result.sgn()),
    angle=lambda grad, result: ops.real(conj(grad) * (1j * result)),
    # Of a negative modulus, gradients have PyTorch's sign, and tangents the right one, as there.
    forward={
        "abs": lambda t, angle: ops.complex(t * ops.cos(angle), t * ops.sin(angle)),
        "angle": lambda t, result: t * (1j * result),
    },
)
derivative("view_as_real", self=lambda grad: ops.view_as_complex(grad.contiguous()))
derivative("view_as_complex", self=lambda grad: ops.view_as_real(grad.resolve_conj()))
