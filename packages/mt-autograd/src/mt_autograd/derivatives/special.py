"""Derivatives of special functions."""

from __future__ import annotations

import math
from typing import Any

from mt_core.api import _functions as ops
from mt_core.declarations.special_polynomials import POLYNOMIALS

from ..rules import derivative, non_differentiable
from ._conjugate import conj
from ._refused import refused_argument

_ROOT_PI = math.sqrt(math.pi)

derivative("erf", self=lambda grad, self: grad * (2 / _ROOT_PI * ops.exp(-self * self)))
derivative("erfc", self=lambda grad, self: grad * (-2 / _ROOT_PI * ops.exp(-self * self)))
derivative("erfinv", self=lambda grad, result: grad * (_ROOT_PI / 2 * ops.exp(result * result)))
derivative("special_erfcx", self=lambda grad, self, result: grad * (2 * self * result - 2 / _ROOT_PI))
derivative("special_ndtri", self=lambda grad, result: grad * (math.sqrt(2 * math.pi) * ops.exp(result * result / 2)))
derivative(
    "special_log_ndtr",
    self=lambda grad, self: grad / ops.special_erfcx(self * -math.sqrt(0.5)) * math.sqrt(2 / math.pi),
)
derivative("lgamma", self=lambda grad, self: grad * ops.digamma(self))
derivative("digamma", self=lambda grad, self: grad * ops.polygamma(1, self))
derivative("polygamma", self=lambda grad, n, self: grad * ops.polygamma(n + 1, self))


def _mvlgamma(grad: Any, self: Any, p: int) -> Any:
    total = ops.digamma(self)
    for k in range(1, p):
        total = total + ops.digamma(self - 0.5 * k)
    return grad * total


derivative("mvlgamma", self=_mvlgamma)


def _sinc(grad: Any, self: Any) -> Any:
    angle = self * math.pi
    slope = (ops.cos(angle) * angle - ops.sin(angle)) / (angle * self)
    return grad * conj(ops.where(self == 0, 0, slope))


derivative("sinc", self=_sinc)
derivative("special_entr", self=lambda grad, self: grad * -(1 + ops.log(self)))


# Bessel functions


def _i1_over(self: Any, value: Any, result: Any) -> Any:
    """value - result / self, where the quotient tends to a half at zero."""
    at_zero = self == 0
    return ops.where(at_zero, 0.5, value - result / ops.where(at_zero, 1, self))


derivative("i0", self=lambda grad, self: grad * ops.special_i1(self))
derivative("special_i0e", self=lambda grad, self, result: grad * (ops.special_i1e(self) - ops.sgn(self) * result))
derivative("special_i1", self=lambda grad, self, result: grad * _i1_over(self, ops.i0(self), result))
derivative(
    "special_i1e",
    self=lambda grad, self, result: grad * (_i1_over(self, ops.special_i0e(self), result) - ops.sgn(self) * result),
)


# Functions of two arguments


def _xlogy_self(grad: Any, self: Any, other: Any) -> Any:
    flat = ops.logical_and(self == 0, other <= 0)
    return grad * ops.where(flat, 0, _log(other))


def _log(value: Any) -> Any:
    if not isinstance(value, (int, float)):
        return ops.log(value)
    return math.log(value) if value > 0 else -math.inf if value == 0 else math.nan


derivative("xlogy.Tensor", self=_xlogy_self, other=lambda grad, self, other: grad * self / other)
derivative("xlogy.Scalar_Self", other=lambda grad, self, other: grad * self / other)
derivative(
    "xlogy.Scalar_Other",
    self=lambda grad, self, other: grad * (_log(other) if other > 0 else ops.where(self == 0, 0.0, _log(other))),
)


def _xlog1py_self(grad: Any, self: Any, other: Any) -> Any:
    flat = ops.logical_and(self == 0, other <= -1)
    return grad * ops.where(flat, 0, ops.log1p(other))


derivative("special_xlog1py", self=_xlog1py_self, other=lambda grad, self, other: grad * self / (other + 1))
derivative("special_xlog1py.self_scalar", other=lambda grad, self, other: grad * self / (other + 1))
derivative(
    "special_xlog1py.other_scalar",
    self=lambda grad, self, other: (
        grad * (_log(other + 1) if other > -1 else ops.where(self == 0, 0.0, _log(other + 1)))
    ),
)


def _zeta_other(grad: Any, self: Any, other: Any) -> Any:
    return grad * -self * ops.special_zeta(self + 1.0, other)


derivative("special_zeta", self=refused_argument("zeta"), other=_zeta_other)
derivative("special_zeta.self_scalar", other=_zeta_other)
derivative("special_zeta.other_scalar", self=refused_argument("zeta"))


def _density(self: Any, other: Any) -> Any:
    """Density of the gamma distribution, the derivative of igamma."""
    return ops.exp((self - 1) * ops.log(other) - other - ops.lgamma(self))


derivative(
    "igamma", self=refused_argument("igamma: input"), other=lambda grad, self, other: grad * _density(self, other)
)  # fmt: skip
derivative(
    "igammac", self=refused_argument("igammac: input"), other=lambda grad, self, other: -grad * _density(self, other)
)  # fmt: skip

# PyTorch has no derivatives of these
non_differentiable(
    "special_bessel_j0", "special_bessel_j1", "special_bessel_y0", "special_bessel_y1", "special_modified_bessel_i0",
    "special_modified_bessel_i1", "special_modified_bessel_k0", "special_modified_bessel_k1",
    "special_scaled_modified_bessel_k0", "special_scaled_modified_bessel_k1", "special_spherical_bessel_j0",
    "special_airy_ai",
    *(f"special_{name}{overload}" for name in POLYNOMIALS for overload in ("", ".x_scalar", ".n_scalar")),
)  # fmt: skip
