"""Derivatives of factorizations, least squares and functions of matrices."""

from __future__ import annotations

import math
from typing import Any

from mt_core.api import _functions as ops
from mt_core.shape_rules.linalg import is_vector

from ..rules import derivative, joint_derivative, real_only
from ._parts import counted, derivative_of_parts, written_times
from ._refused import refused_argument, refused_operator
from .linalg import _h, check_phase


def _eig(grads: Any, self_spec: Any, result0: Any, result1: Any) -> Any:
    """Boeddeker et al. (2017): V^-H (diag(gL) + (V^H gV - V^H V diag(re V^H gV)) / E) V^H."""
    grad_values, grad_vectors = grads
    values, vectors = result0, result1
    if grad_vectors is None:
        middle = grad_values.unsqueeze(-1) * _h(vectors) if grad_values is not None else None
        return None if middle is None else _fit(ops.linalg_solve(_h(vectors), middle), self_spec)
    turned = _h(vectors) @ grad_vectors
    if self_spec.dtype.is_complex:
        check_phase(turned, None, "linalg_eig_backward: The eigenvectors")
    gaps = (values.unsqueeze(-2) - values.unsqueeze(-1)).conj().resolve_conj()
    gaps = gaps + ops.diag_embed(ops.full_like(values, math.inf))
    lengths = turned.diagonal(0, -2, -1).real.unsqueeze(-2)
    middle = (turned - _h(vectors) @ vectors * lengths) / gaps
    middle = middle.masked_fill(ops.eye(values.shape[-1], dtype=ops.isnan(gaps).dtype, device=gaps.device), 0)
    if grad_values is not None:
        middle = middle + ops.diag_embed(grad_values)
    return _fit(ops.linalg_solve(_h(vectors), middle @ _h(vectors)), self_spec)


def _fit(gradient: Any, spec: Any) -> Any:
    return gradient if spec.dtype.is_complex else gradient.real


derivative("linalg_eig", self=_eig)


def _eigvals(grad: Any, self: Any) -> Any:
    """The vectors are computed only now: whoever asks for values alone may need no gradient."""
    vectors = ops.linalg_eig(self)[1]
    gradient = ops.linalg_solve(_h(vectors), grad.unsqueeze(-1) * _h(vectors))
    return gradient if self.is_complex() else gradient.real


derivative("linalg_eigvals", node="LinalgEigBackward0", self=_eigvals)
# Written in other operators, and one node each.
derivative_of_parts("linalg_lu", "A", differentiable_outputs=(False, True, True))
derivative_of_parts("linalg_lu_solve", "LU", "B", writes=lambda LU, pivots, B, left, adjoint: (0, int(left)))
derivative_of_parts(
    "ormqr",
    "self",
    "input2",
    "input3",
    writes=lambda self, input2, *others: (input2.shape[-1] + 1, input2.shape[-1], 1),
)


def _lu_factor(grad: Any, result0: Any, result1: Any) -> Any:
    permutation, lower, upper = ops.lu_unpack(result0, result1)
    m, n = result0.shape[-2:]
    k = min(m, n)
    square_l, square_u = lower.narrow(-2, 0, k), upper.narrow(-1, 0, k)
    top = grad.narrow(-2, 0, k).narrow(-1, 0, k)
    below, above = _h(square_l) @ top.tril(-1), top.triu() @ _h(square_u)
    if m < n:
        right = grad.narrow(-1, k, n - k)
        below = below - right @ _h(upper.narrow(-1, k, n - k))
    if m > n:
        bottom = grad.narrow(-2, k, m - k)
        above = above - _h(lower.narrow(-2, k, m - k)) @ bottom
    middle = ops.linalg_solve_triangular(_h(square_u), below.tril(-1) + above.triu(), upper=False, left=False)
    result = ops.linalg_solve_triangular(_h(square_l), middle, upper=True, unitriangular=True)
    if m < n:
        result = ops.cat([result, ops.linalg_solve_triangular(_h(square_l), right, upper=True, unitriangular=True)], -1)
    if m > n:
        result = ops.cat([result, ops.linalg_solve_triangular(_h(square_u), bottom, upper=False, left=False)], -2)
    return permutation @ result


derivative("linalg_lu_factor_ex", A=_lu_factor, differentiable_outputs=(True, False, False))


def _lu_unpack(grads: Any, LU_data_spec: Any) -> Any:
    _, lower, upper = grads
    m, n = LU_data_spec.shape[-2:]
    k = min(m, n)
    total = None
    if lower is not None:
        total = ops.constant_pad_nd(lower.tril(-1), (0, n - k))
    if upper is not None:
        part = ops.constant_pad_nd(upper.triu(), (0, 0, 0, m - k))
        total = part if total is None else total + part
    return total


derivative("lu_unpack", LU_data=_lu_unpack, differentiable_outputs=(False, True, True))
refused_operator("linalg_ldl_factor_ex", "self")
refused_operator("linalg_ldl_solve", "LD", "B")
derivative("geqrf", self=refused_argument("geqrf"))
real_only("geqrf")


def _cholesky_solve(grads: Any, mask: Any, self: Any, input2: Any, upper: bool, result: Any) -> tuple[Any, Any]:
    """As for A = L L^H with a full L: also elements that the operator does not read have a gradient."""
    grad = grads[0]
    if grad is None:
        return None, None
    grad_b = ops.cholesky_solve(grad, input2, upper)
    if not mask[1]:
        return grad_b, None
    common = grad_b @ _h(result)
    common = common + _h(common)
    return grad_b, -(input2 @ common) if upper else -(common @ input2)


def _cholesky_inverse(grad: Any, self: Any, upper: bool, result: Any) -> Any:
    common = result @ ((grad + _h(grad)) @ result)
    return -(self @ common) if upper else -(common @ self)


joint_derivative("cholesky_solve", ("self", "input2"), _cholesky_solve)
derivative("cholesky_inverse", self=_cholesky_inverse)


def _pinv(grad: Any, self: Any, result: Any) -> Any:
    """Golub and Pereyra (1973), grouped so that products stay small."""
    inverse, inverse_h, grad_h = result, _h(result), _h(grad)
    first = -(inverse_h @ grad @ inverse_h)
    spread = grad_h @ inverse @ inverse_h
    second = spread - self @ (inverse @ spread)
    gathered = inverse_h @ inverse @ grad_h
    third = gathered - (gathered @ inverse) @ self
    return first + second + third


derivative("linalg_pinv.atol_rtol_tensor", self=written_times(1, _pinv))


def _lstsq(grads: Any, mask: Any, self: Any, b: Any, result0: Any) -> tuple[Any, Any]:
    grad, grad_residuals = grads[0], grads[1]
    vector = is_vector(self, b)
    right = b.unsqueeze(-1) if vector else b
    solution = result0.unsqueeze(-1) if vector else result0
    grad_a = grad_b = None
    if grad is not None:
        gradient = grad.unsqueeze(-1) if vector else grad
        inverse = ops.linalg_pinv(self)
        grad_b = _h(inverse) @ gradient
        if mask[0]:
            grad_a = counted(_pinv(gradient @ _h(right), self, inverse), 1)
    if grad_residuals is not None and grad_residuals.numel():
        rest = 2 * (self @ solution - right) * grad_residuals.unsqueeze(-2)
        grad_a = _add(grad_a, rest @ _h(solution))
        grad_b = _add(grad_b, -rest)
    return grad_a, grad_b.squeeze(-1) if vector and grad_b is not None else grad_b


def _add(a: Any, b: Any) -> Any:
    return b if a is None else a + b


joint_derivative("linalg_lstsq", ("self", "b"), _lstsq, differentiable_outputs=(True, True, False, False))


def _matrix_exp(grad: Any, self: Any) -> Any:
    """Najfeld and Havel (1995).

    The Frechet derivative is a corner of the exponential of a block matrix twice as large.
    """
    matrix, n = _h(self), self.shape[-1]
    top = ops.cat([matrix, grad], -1)
    bottom = ops.cat([ops.zeros_like(matrix), matrix], -1)
    return ops.linalg_matrix_exp(ops.cat([top, bottom], -2)).narrow(-2, 0, n).narrow(-1, n, n)


derivative("linalg_matrix_exp", self=_matrix_exp)


derivative_of_parts(
    "linalg_householder_product", "input", "tau", writes=lambda input, tau: (tau.shape[-1] + 1, tau.shape[-1])
)
