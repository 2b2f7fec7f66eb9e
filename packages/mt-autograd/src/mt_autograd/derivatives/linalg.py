"""Derivatives of linear algebra, after Giles 2008, "Collected matrix derivative results".

For complex matrices, as in PyTorch, the gradient is the conjugate Wirtinger derivative.
"""

from __future__ import annotations

import math
from typing import Any

from mt_core.api import _functions as ops
from mt_core.shape_rules.linalg import is_vector

from ..rules import derivative, forward_rule, joint_derivative
from ._conjugate import conj
from ._parts import counted, written_times
from .reduction import product_of_others, restore


def _h(matrix: Any) -> Any:
    """Conjugate transpose."""
    return matrix.mH if matrix.is_complex() else matrix.mT


def vector_norm_backward(grad: Any, self: Any, ord: Any, dim: Any, keepdim: bool, result: Any) -> Any:
    order = float(ord)
    if order == 0:
        return None
    if self.dtype is not grad.dtype and not self.is_complex():
        self = self.to(grad.dtype)
    grad, norm = restore(grad, self.shape, dim, keepdim), restore(result, self.shape, dim, keepdim)
    if order == 1:
        return grad * self.sgn()
    if order == 2:
        return grad * (self / norm).masked_fill_(norm == 0, 0)
    size = self.abs()
    if math.isinf(order):
        chosen = (size == norm) | size.isnan()
        dims = tuple(range(self.dim())) if dim is None or not len(tuple(dim)) else tuple(dim)
        count = chosen.sum(dims, keepdim=True) if self.dim() else chosen
        return self.sgn() * (grad / count * chosen)
    if order < 1:
        scaled = self.sgn() * size.pow(order - 1).masked_fill(size == 0, 0)
        return scaled * grad * norm.pow(1 - order)
    if order < 2:
        scaled = self.sgn() * size.pow(order - 1)
    else:
        scaled = self * size.pow(order - 2)
    return scaled * (grad / norm.pow(order - 1)).masked_fill(norm == 0, 0)


derivative("linalg_vector_norm", self=vector_norm_backward)
derivative(
    "_norm_over",
    node="NormBackward1",
    self=lambda grad, self, p, dim, keepdim, result: vector_norm_backward(grad, self, p, dim, keepdim, result),
)
derivative(
    "linalg_cross",
    self=lambda grad, other, dim: ops.linalg_cross(conj(other), grad, dim=dim),
    other=lambda grad, self, dim: ops.linalg_cross(grad, conj(self), dim=dim),
)
derivative(
    "linalg_inv_ex",
    A=lambda grad, result0: -(_h(result0) @ (grad @ _h(result0))),
    differentiable_outputs=(True, False),
)


def _solve(grads: Any, mask: Any, A: Any, B: Any, left: bool, result0: Any) -> tuple[Any, Any]:
    grad = grads[0]
    if grad is None:
        return None, None
    vector = is_vector(A, B)
    gradient = grad.unsqueeze(-1) if vector else grad
    solution = result0.unsqueeze(-1) if vector else result0
    grad_b = ops.linalg_solve(_h(A), gradient, left=left)
    grad_a = None
    if mask[0]:
        grad_a = -(grad_b @ _h(solution)) if left else -(_h(solution) @ grad_b)
    return grad_a, grad_b.squeeze(-1) if vector else grad_b


joint_derivative("linalg_solve_ex", ("A", "B"), _solve, differentiable_outputs=(True, False))


def _det(grad: Any, A: Any, result: Any) -> Any:
    """The adjugate's conjugate transpose, by singular values, so that singular matrices have a gradient too."""
    u, s, vh = ops.linalg_svd(A)
    sign = (ops._linalg_det(u) * ops._linalg_det(vh)).unsqueeze(-1)
    others = product_of_others(s, -1) if s.shape[-1] else s
    conj_sign = sign.conj() if sign.is_complex() else sign
    return grad.unsqueeze(-1).unsqueeze(-1) * ((u * (conj_sign * others).unsqueeze(-2)) @ vh)


derivative("_linalg_det", A=written_times(1, _det))


def _slogdet(grads: Any, A: Any, result0: Any) -> Any:
    sign_grad, log_grad = grads
    inverse = _h(ops.linalg_inv(A))
    total = None
    if log_grad is not None:
        total = counted(log_grad.unsqueeze(-1).unsqueeze(-1) * inverse, 1)
    if sign_grad is not None and A.is_complex():
        phase = (sign_grad.conj() * result0).imag
        turned = ops.complex(ops.zeros_like(phase), -phase).unsqueeze(-1).unsqueeze(-1) * inverse
        total = turned if total is None else total + turned
    return total if total is not None else ops.zeros_like(A)


derivative("linalg_slogdet", A=_slogdet)


def _cholesky(grad: Any, upper: bool, result0: Any) -> Any:
    factor, gradient = (_h(result0), _h(grad)) if upper else (result0, grad)
    phi = (_h(factor) @ gradient).tril()
    symmetric = 0.5 * (phi + _h(phi.tril(-1)))
    inner = ops.linalg_solve_triangular(_h(factor), symmetric, upper=True)
    return ops.linalg_solve_triangular(factor, inner, upper=False, left=False)


derivative("linalg_cholesky_ex", self=_cholesky, differentiable_outputs=(True, False))
derivative("cholesky", self=lambda grad, upper, result: _cholesky(grad, upper, result))


def _qr(grads: Any, A: Any, mode: str, result0: Any, result1: Any) -> Any:
    grad_q, grad_r = grads
    m, n = A.shape[-2:]
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
            "mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    q, r = result0, result1
    if m >= n:
        return _qr_tall(grad_q, grad_r, q, r)
    # A = [X | Y]: the left square block determines Q, the rest is Q^H Y.
    y = A.narrow(-1, m, n - m)
    u, v = r.narrow(-1, 0, m), r.narrow(-1, m, n - m)
    gu = grad_r.narrow(-1, 0, m) if grad_r is not None else None
    gv = grad_r.narrow(-1, m, n - m) if grad_r is not None else ops.zeros_like(v)
    inner = y @ _h(gv)
    total_q = inner if grad_q is None else grad_q + inner
    return ops.cat([_qr_tall(total_q, gu, q, u), q @ gv], -1)


def _qr_tall(grad_q: Any, grad_r: Any, q: Any, r: Any) -> Any:
    """Walter and Lehmann (2010): solve with R^H after copying the lower triangle over the upper."""
    middle: Any = None
    if grad_r is not None:
        middle = r @ _h(grad_r)
    if grad_q is not None:
        part = _h(grad_q) @ q
        middle = -part if middle is None else middle - part
    lower = middle.tril(-1)
    symmetric = lower + _h(lower) + ops.diag_embed(_real_diagonal(middle))
    total = q @ symmetric
    if grad_q is not None:
        total = grad_q + total
    return ops.linalg_solve_triangular(_h(r), total, upper=False, left=False)


def _real_diagonal(matrix: Any) -> Any:
    diagonal = matrix.diagonal(0, -2, -1)
    return ops.complex(diagonal.real, ops.zeros_like(diagonal.real)) if diagonal.is_complex() else diagonal


derivative("linalg_qr", A=_qr)


def check_phase(turned: Any, other: Any, who: str) -> None:
    """Refuse gradients along the phases that complex vectors leave open.

    Parameters
    ----------
    turned, other
        V^H gV (*, K, K), and U^H gU where the phases of two sets of vectors cancel; one of them may be None.
    who
        How the refusal begins.
    """
    phase = 0.0
    for matrix in (turned, other):
        if matrix is not None and matrix.is_complex() and not matrix.is_meta:
            phase = phase + matrix.detach().diagonal(0, -2, -1).imag
    if not isinstance(phase, float) and phase.numel() and float(phase.abs().amax()) > 1e-2:
        ends = "phase term, making it ill-defined" if who[:3] == "svd" else "quantity, so it is ill-defined"
        raise RuntimeError(
            f"{who} in the complex case are specified up to multiplication by e^{{i phi}}. The specified loss function "
            f"depends on this {ends}."
        )


def _eigh(grads: Any, result0: Any, result1: Any) -> Any:
    grad_values, grad_vectors = grads
    vectors_h = _h(result1)
    middle = None
    if grad_vectors is not None:
        gaps = result0.unsqueeze(-2) - result0.unsqueeze(-1)
        gaps = gaps + ops.diag_embed(ops.full_like(result0, math.inf))
        turned = vectors_h @ grad_vectors
        check_phase(turned, None, "linalg_eigh_backward: The eigenvectors")
        middle = turned / gaps
    if grad_values is not None:
        diagonal = ops.diag_embed(grad_values)
        middle = diagonal.to(result1.dtype) if middle is None else middle + diagonal
    return result1 @ (middle @ vectors_h) if middle is not None else None


derivative("linalg_eigh", self=_eigh)


def _svd(grads: Any, A: Any, full_matrices: bool, result0: Any, result1: Any, result2: Any) -> Any:
    grad_u, grad_s, grad_vh = grads
    m, n = A.shape[-2:]
    k = min(m, n)
    u, s, vh = result0.narrow(-1, 0, k), result1, result2.narrow(-2, 0, k)
    grad_u = None if grad_u is None else grad_u.narrow(-1, 0, k)
    grad_vh = None if grad_vh is None else grad_vh.narrow(-2, 0, k)
    middle = None if grad_s is None else ops.diag_embed(grad_s).to(A.dtype)
    if grad_u is None and grad_vh is None:
        return u @ (middle @ vh) if middle is not None else None
    squares = s * s
    gaps = squares.unsqueeze(-2) - squares.unsqueeze(-1) + ops.diag_embed(ops.full_like(s, math.inf))

    def skew(matrix: Any) -> Any:
        return matrix - _h(matrix)

    turned_u = None if grad_u is None else _h(u) @ grad_u
    turned_v = None if grad_vh is None else vh @ _h(grad_vh)
    check_phase(turned_u, turned_v, "svd_backward: The singular vectors")
    terms = []
    if turned_u is not None:
        inner_u = skew(turned_u) / gaps
        terms.append(inner_u * s.unsqueeze(-2))
    if turned_v is not None:
        inner_v = skew(turned_v) / gaps
        terms.append(s.unsqueeze(-1) * inner_v)
    for term in terms:
        middle = term if middle is None else middle + term
    if A.is_complex() and turned_u is not None:
        phase = turned_u.diagonal(0, -2, -1).imag / s
        middle = middle + ops.diag_embed(ops.complex(ops.zeros_like(phase), phase))
    total = u @ (middle @ vh)
    if grad_u is not None and m > k:
        rest = grad_u / s.unsqueeze(-2)
        total = total + (rest - u @ (_h(u) @ rest)) @ vh
    if grad_vh is not None and n > k:
        rest = grad_vh / s.unsqueeze(-1)
        total = total + u @ (rest - (rest @ _h(vh)) @ vh)
    return total


derivative("linalg_svd", A=_svd)


def _solve_triangular(
    grads: Any, mask: Any, self: Any, upper: bool, left: bool, unitriangular: bool, result: Any
) -> tuple[Any, Any]:
    grad = grads[0]
    if grad is None:
        return None, None
    grad_b = ops.linalg_solve_triangular(_h(self), grad, upper=not upper, left=left, unitriangular=unitriangular)
    grad_a = None
    if mask[0]:
        full = -(grad_b @ _h(result)) if left else -(_h(result) @ grad_b)
        grad_a = full.triu(int(unitriangular)) if upper else full.tril(-int(unitriangular))
    return grad_a, grad_b


def _triangular_solve(
    grads: Any, mask: Any, A: Any, upper: bool, transpose: bool, unitriangular: bool, result0: Any
) -> tuple[Any, Any]:
    """Of the solution, through the matrix as it was read; the second output is the matrix itself."""
    matrix, triangle = (A.mT, not upper) if transpose else (A, upper)
    grad_a, grad_b = _solve_triangular(grads[:1], mask[::-1], matrix, triangle, True, unitriangular, result0)
    if grad_a is not None and transpose:
        grad_a = grad_a.mT
    if grads[1] is not None:
        grad_a = grads[1] if grad_a is None else grad_a + grads[1]
    return grad_b, grad_a


joint_derivative("triangular_solve", ("self", "A"), _triangular_solve)


joint_derivative("linalg_solve_triangular", ("self", "B"), _solve_triangular)

forward_rule("multilinear", "linalg_cross")
