"""Factorizations, least squares and what follows from them, written in other operators."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..checks.linalg import refuse_singular
from ..deprecation import warn_once
from ..dispatch.registry import register_composite as composite
from ..dtypes import scalar_type_name
from ..formats import contiguous_format
from ..hollow import has_elements, is_hollow, seen_through
from ..layout import broadcast_shapes
from ..shape_rules.linalg import floating, lapack

Ints = tuple[int, ...]


def _adjoint(matrix: Any) -> Any:
    return matrix.mH if matrix.is_complex() else matrix.mT


def _by_columns(matrix: Any) -> Any:
    """A copy stored column by column, as LAPACK leaves what it returns."""
    return matrix.mT.clone(memory_format=contiguous_format).mT


# LU


@composite("linalg_lu_factor")
def lu_factor(A: Any, pivot: bool) -> Any:
    """A (*, M, N) -> LU (*, M, N), pivots (*, min(M, N))."""
    LU, pivots, info = ops.linalg_lu_factor_ex(A, pivot=pivot)
    ops._linalg_check_errors(info, "torch.linalg.lu_factor", is_matrix=not info.dim())
    return LU, pivots


@composite("linalg_lu", explicit=True)
def lu(A: Any, pivot: bool) -> Any:
    """A (*, M, N) -> P (*, M, M), L (*, M, K), U (*, K, N), K = min(M, N)."""
    if A.dim() < 2:
        raise RuntimeError(f"linalg.lu: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    LU, pivots, _ = ops.linalg_lu_factor_ex(A, pivot=pivot)
    return tuple(ops.lu_unpack(LU, pivots))


@composite("_lu_with_info")
def lu_with_info(self: Any, pivot: bool, check_errors: bool) -> Any:
    """self (*, M, N) -> LU (*, M, N), pivots (*, min(M, N)), info (*)."""
    warn_once(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in "
        "a future PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\n"
        "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\nLU, pivots, info = torch.lu(A, compute_pivots, "
        "get_infos=True)\nshould be replaced with\nLU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
    )
    # As in PyTorch a singular factor is no error here: who asks for it reads `info`.
    return ops.linalg_lu_factor_ex(self, pivot=pivot)


def _check_lu_solve(LU: Any, pivots: Any, B: Any, left: bool) -> None:
    floating(LU, "torch.linalg.lu_solve", "linalg.lu_solve_cpu")
    if LU.dtype is not B.dtype:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type "
            f"{scalar_type_name(LU.dtype)} and B of type {scalar_type_name(B.dtype)} instead"
        )
    if pivots.dtype is not dtypes.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    _check_square(LU, "torch.linalg.lu_solve")
    if B.dim() < 2:
        raise RuntimeError("linalg.lu_solve: The input tensor B must have at least 2 dimensions.")
    if B.shape[-2 if left else -1] != LU.shape[-1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"linalg.lu_solve: Incompatible shapes of A and B for the equation {equation} "
            f"({LU.shape[-2]}x{LU.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    if pivots.size(-1) != LU.shape[-1]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if tuple(pivots.shape) != tuple(LU.shape[:-1]):
        raise RuntimeError(
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )


def _check_square(A: Any, name: str) -> None:
    if A.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )


@composite("linalg_lu_solve", explicit=True)
def linalg_lu_solve(LU: Any, pivots: Any, B: Any, left: bool, adjoint: bool) -> Any:
    """LU (*, N, N), pivots (*, N), B (*, N, K) -> (*, N, K); B (*, K, N) from the right."""
    _check_lu_solve(LU, pivots, B, left)
    if not left:
        # X A = B is A^H X^H = B^H.
        return _adjoint(linalg_lu_solve(LU, pivots, _adjoint(B), True, not adjoint))
    permutation, _, _ = ops.lu_unpack(LU, pivots, unpack_data=False)
    if adjoint:
        inner = ops.linalg_solve_triangular(_adjoint(LU), B, upper=False)
        outer = ops.linalg_solve_triangular(_adjoint(LU), inner, upper=True, unitriangular=True)
        return (outer.mT @ permutation.mT).mT
    inner = ops.linalg_solve_triangular(LU, permutation.mT @ B, upper=False, unitriangular=True)
    return ops.linalg_solve_triangular(LU, inner, upper=True)


@composite("lu_solve")
def lu_solve(self: Any, LU_data: Any, LU_pivots: Any) -> Any:
    """self (*, N, K), LU_data (*, N, N), LU_pivots (*, N) -> (*, N, K)."""
    warn_once(
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch release."
        "\nNote that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be "
        "replaced with\nX = torch.linalg.lu_solve(LU, pivots, B)"
    )
    return ops.linalg_lu_solve(LU_data, LU_pivots, self)


# LDL


@composite("linalg_ldl_factor")
def ldl_factor(self: Any, hermitian: bool) -> Any:
    """self (*, N, N) -> LD (*, N, N), pivots (*, N)."""
    LD, pivots, info = ops.linalg_ldl_factor_ex(self, hermitian=hermitian)
    ops._linalg_check_errors(info, "torch.linalg.ldl_factor", is_matrix=not info.dim())
    return LD, pivots


# Householder reflectors


def _reflectors(input: Any, count: int) -> Any:
    """(..., m, count) vectors below the diagonal, with 1 on it."""
    vectors = input.narrow(-1, 0, count).tril(-1)
    return vectors + ops.eye(input.shape[-2], count, dtype=input.dtype, device=input.device)


def _reflect(vectors: Any, tau: Any, i: int, matrix: Any) -> Any:
    """(I - tau v v^H) matrix, with reflector number i."""
    v = vectors.narrow(-1, i, 1)
    scale = tau.narrow(-1, i, 1).unsqueeze(-1)
    return matrix - (scale * v) @ (_adjoint(v) @ matrix)


@composite("linalg_householder_product", explicit=True)
def householder_product(input: Any, tau: Any) -> Any:
    """input (*, M, N), tau (*, K) -> (*, M, N): the first N columns of the product of K reflectors."""
    name = "torch.linalg.householder_product"
    _check_reflectors(input, tau, name)
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if input.shape[-1] < tau.size(-1):
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    _check_tau(input, tau, name)
    if input.dtype is not tau.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {scalar_type_name(tau.dtype)} does not match input dtype "
            f"{scalar_type_name(input.dtype)}"
        )
    lapack(input, "orgqr_cpu")
    vectors = _reflectors(input, tau.shape[-1])
    result = ops.eye(*input.shape[-2:], dtype=input.dtype, device=input.device).expand(input.shape)
    for i in reversed(range(tau.shape[-1])):
        result = _reflect(vectors, tau, i, result)
    return _by_columns(result).clone()  # an operator's result is no view


def _check_reflectors(input: Any, tau: Any, name: str) -> None:
    if input.dim() < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")


def _check_tau(input: Any, tau: Any, name: str) -> None:
    if input.dim() - tau.dim() != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.dim()} "
            f"and input.ndim is equal to {input.dim()}"
        )
    if tau.shape[:-1] != input.shape[:-2]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )


@composite("orgqr")
def orgqr(self: Any, input2: Any) -> Any:
    """self (*, M, N), input2 (*, K) -> (*, M, N)."""
    return ops.linalg_householder_product(self, input2)


@composite("ormqr", explicit=True)
def ormqr(self: Any, input2: Any, input3: Any, left: bool, transpose: bool) -> Any:
    """self (*, M, K) reflectors, input2 (*, K), input3 (*, M, N) -> (*, M, N); input3 (*, N, M) from the right."""
    _check_ormqr(self, input2, input3, left)
    lapack(self, "ormqr_cpu")
    if not left:
        # C Q is the adjoint of Q^H C^H.
        return _by_columns(_adjoint(ops.ormqr(self, input2, _adjoint(input3), True, not transpose)))
    count = input2.shape[-1]
    vectors = _reflectors(self, count)
    # Q^H is the product of the H_i^H in the other order.
    tau = input2.conj().resolve_conj() if transpose and input2.is_complex() else input2
    result = input3
    for i in range(count) if transpose else reversed(range(count)):
        result = _reflect(vectors, tau, i, result)
    return _by_columns(result)


def _check_ormqr(self: Any, tau: Any, other: Any, left: bool) -> None:
    name, side = "torch.ormqr", -2 if left else -1
    _check_reflectors(self, tau, name)
    if other.dim() < 2:
        raise RuntimeError(f"{name}: other must have at least 2 dimensions.")
    if other.shape[side] < tau.size(-1) and other.shape[side] == self.shape[-2]:
        raise RuntimeError(f"{name}: other.shape[{side}] must be greater than or equal to tau.shape[-1]")
    if tau.shape[-1] != min(other.shape[side], self.shape[-1]):
        raise RuntimeError(f"{name}: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    if other.shape[side] != self.shape[-2]:
        raise RuntimeError(f"{name}: other.shape[{side}] must be equal to input.shape[-2]")
    _check_tau(self, tau, name)
    if other.dim() != self.dim():
        raise RuntimeError(
            f"{name}: Expected other to have the same number of dimensions as input, but got other.ndim equal to "
            f"{other.dim()} and input.ndim is equal to {self.dim()}"
        )
    if other.shape[:-2] != self.shape[:-2]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of other to be equal to input.shape[:-2], but got "
            f"{list(other.shape[:-2])}"
        )
    for what, given in (("tau", tau), ("other", other)):
        if given.dtype is not self.dtype:
            raise RuntimeError(
                f"{name}: Expected input and {what} to have the same dtype, but input has "
                f"dtype{scalar_type_name(self.dtype)} and {what} has dtype {scalar_type_name(given.dtype)}"
            )


# Triangular and Cholesky factors


def _check_pair(b: Any, A: Any, name: str) -> None:
    if A.dtype is not b.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {scalar_type_name(b.dtype)} and A of "
            f"type {scalar_type_name(A.dtype)} instead."
        )
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )
    if A.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {A.shape[-1]} by {A.shape[-1]} but each b "
            f"matrix is {b.shape[-2]} by {b.shape[-1]}"
        )


@composite("triangular_solve", explicit=True)
def triangular_solve(self: Any, A: Any, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    """self (*, N, K), A (*, N, N) -> solution (*, N, K), A as it was read (*, N, N)."""
    warn_once(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future "
        "PyTorch release.\ntorch.linalg.solve_triangular has its arguments reversed and does not return a copy of one "
        "of the inputs.\nX = torch.triangular_solve(B, A).solution\nshould be replaced with\n"
        "X = torch.linalg.solve_triangular(A, B)."
    )
    for what, given in (("b", self), ("A", A)):
        if given.dim() < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {what} to have at least 2 dimensions, but it has "
                f"{given.dim()} dimensions instead"
            )
    _check_pair(self, A, "triangular_solve")
    batch = broadcast_shapes([tuple(self.shape[:-2]), tuple(A.shape[:-2])])
    wide = A.expand((*batch, *A.shape[-2:]))
    matrix, triangle = (wide.mT, not upper) if transpose else (wide, upper)
    solution = ops.linalg_solve_triangular(matrix, self, upper=triangle, unitriangular=unitriangular)
    return solution, _by_columns(wide)


@composite("cholesky_solve", explicit=True)
def cholesky_solve(self: Any, input2: Any, upper: bool) -> Any:
    """self (*, N, K), input2 (*, N, N) -> (*, N, K)."""
    for what, given in (("b", self), ("u", input2)):
        if given.dim() < 2:
            raise RuntimeError(f"{what} should have at least 2 dimensions, but has {given.dim()} dimensions instead")
    _check_pair(self, input2, "cholesky_solve")
    lapack(self, "cholesky_solve_cpu")
    lower = _adjoint(input2) if upper else input2
    inner = ops.linalg_solve_triangular(lower, self, upper=False)
    return ops.linalg_solve_triangular(_adjoint(lower), inner, upper=True)


@composite("cholesky_inverse", explicit=True)
def cholesky_inverse(self: Any, upper: bool) -> Any:
    """self (*, N, N) -> (*, N, N)."""
    _check_square(self, "cholesky_inverse")
    _refuse_zeros_on_diagonal(self)
    identity = ops.eye(self.shape[-1], dtype=self.dtype, device=self.device)
    return cholesky_solve(identity.expand(self.shape), self, upper)


def _refuse_zeros_on_diagonal(self: Any) -> None:
    if not has_elements(self) or not bool((zero := seen_through(self.detach()).diagonal(0, -2, -1) == 0).any()):
        return
    rows = zero.reshape(-1, self.shape[-1]).tolist()
    refuse_singular([row.index(True) + 1 if any(row) else 0 for row in rows], self.dim() > 2, "cholesky_inverse")


# Pseudo-inverses, ranks, condition numbers


def _tolerance(self: Any, value: float | None) -> Any:
    if value is None:
        return None
    return ops.full((), value, dtype=dtypes.float64, device=self.device)


def _require_precision(self: Any) -> None:
    """Refuse what has no default tolerance: the rounding of its dtype, times its larger side."""
    if self.dtype.category < 2:
        raise RuntimeError("This function doesn't handle types other than float and double")
    self.size(-2)


@composite("linalg_pinv.atol_rtol_float")
def pinv_floats(self: Any, atol: float | None, rtol: float | None, hermitian: bool) -> Any:
    """self (*, M, N) -> (*, N, M)."""
    if rtol is None:
        _require_precision(self)
    return ops.linalg_pinv(self, atol=_tolerance(self, atol), rtol=_tolerance(self, rtol), hermitian=hermitian)


@composite("linalg_pinv")
def pinv_rcond(self: Any, rcond: float, hermitian: bool) -> Any:
    """self (*, M, N) -> (*, N, M)."""
    return pinv_rcond_tensor(self, _tolerance(self, rcond), hermitian)


@composite("linalg_pinv.rcond_tensor")
def pinv_rcond_tensor(self: Any, rcond: Any, hermitian: bool) -> Any:
    """self (*, M, N) -> (*, N, M)."""
    if rcond.is_complex():
        raise RuntimeError(
            f"torch.linalg.pinv: rcond tensor of complex type is not supported. Got {scalar_type_name(rcond.dtype)}"
        )
    return ops.linalg_pinv(
        self, atol=ops.zeros((), dtype=dtypes.float64, device=self.device), rtol=rcond, hermitian=hermitian
    )


@composite("pinverse")
def pinverse(self: Any, rcond: float) -> Any:
    """self (*, M, N) -> (*, N, M)."""
    return pinv_rcond(self, rcond, False)


@composite("linalg_matrix_rank.atol_rtol_tensor")
def matrix_rank(input: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    """self (*, M, N) -> (*) of int64."""
    for what, given in (("atol", atol), ("rtol", rtol)):
        if given is not None and given.is_complex():
            raise RuntimeError(
                f"torch.linalg.matrix_rank: {what} tensor of complex type is not supported. Got "
                f"{scalar_type_name(given.dtype)}"
            )
    _check_rank(input)
    if rtol is None:
        _require_precision(input)
    if not input.numel():
        return input.new_empty(input.shape[:-2], dtype=dtypes.int64).zero_()
    values = ops.linalg_eigvalsh(input).abs() if hermitian else ops.linalg_svdvals(input)
    if rtol is None:
        default = 0.0 if atol is not None else dtypes.finfo(values.dtype).eps * max(input.shape[-2:])
        rtol = ops.full((), default, dtype=values.dtype, device=input.device)
        if atol is not None:
            # An absolute tolerance of zero leaves the relative one in force.
            rtol = ops.where(atol > 0, rtol, dtypes.finfo(values.dtype).eps * max(input.shape[-2:]))
    bound = rtol * values.amax(-1)
    if atol is not None:
        bound = ops.maximum(atol, bound)
    counted = values > bound.unsqueeze(-1)
    if is_hollow(counted):  # under vmap nothing is written to an output
        return ops.sum(counted, -1)
    rank = input.new_empty(input.shape[:-2], dtype=dtypes.int64)
    return ops.sum(counted, -1, out=rank)


def _check_rank(input: Any) -> None:
    if input.dim() < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")


@composite("linalg_matrix_rank.atol_rtol_float")
def matrix_rank_floats(self: Any, atol: float | None, rtol: float | None, hermitian: bool) -> Any:
    """self (*, M, N) -> (*) of int64."""
    return matrix_rank(self, _tolerance(self, atol), _tolerance(self, rtol), hermitian)


@composite("linalg_matrix_rank")
def matrix_rank_tol(self: Any, tol: float, hermitian: bool) -> Any:
    """self (*, M, N) -> (*) of int64."""
    return matrix_rank_tol_tensor(self, _tolerance(self, tol), hermitian)


@composite("linalg_matrix_rank.tol_tensor")
def matrix_rank_tol_tensor(input: Any, tol: Any, hermitian: bool) -> Any:
    """self (*, M, N) -> (*) of int64."""
    return matrix_rank(input, tol, ops.zeros((), dtype=dtypes.float64, device=input.device), hermitian)


_NORMS = (1, 2, math.inf)


@composite("linalg_cond")
def cond(self: Any, p: Any) -> Any:
    """self (*, M, N) -> (*) of real."""
    if self.dim() < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if isinstance(p, complex):
        raise RuntimeError("value cannot be converted to type double without overflow")
    order = 2.0 if p is None else float(p)
    if abs(order) not in _NORMS:
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if abs(order) != 2:
        return _cond_by_inverse(self, order)
    values = ops.linalg_svdvals(self)
    if not values.shape[-1]:
        return values.new_empty(values.shape[:-1]).zero_()
    largest, smallest = values.narrow(-1, 0, 1), values.narrow(-1, -1, 1)
    return (largest / smallest if order > 0 else smallest / largest).squeeze(-1)


def _cond_by_inverse(self: Any, order: Any) -> Any:
    if isinstance(order, float) and not self.numel():
        return self.abs().new_empty(self.shape[:-2]).zero_()
    _check_square(self, f"linalg.cond(ord={order if isinstance(order, str) else f'{order:g}'})")
    inverse, info = ops.linalg_inv_ex(self)
    # A matrix that has no inverse, whatever stands in its place, is infinitely far from having one.
    inverse = inverse.masked_fill((info != 0).unsqueeze(-1).unsqueeze(-1), math.inf)
    result = ops.linalg_matrix_norm(self, order) * ops.linalg_matrix_norm(inverse, order)
    return result.nan_to_num_(math.inf, math.inf, -math.inf)


@composite("linalg_cond.p_str")
def cond_named(self: Any, p: str) -> Any:
    """self (*, M, N) -> (*) of real."""
    if p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p == "fro":
        return _cond_by_inverse(self, p)
    _check_square(self, "linalg.cond(ord=nuc)")
    values = ops.linalg_svdvals(self)
    return values.sum(-1) * values.reciprocal().sum(-1)


# Functions of matrices and tensors


@composite("matrix_exp")
def matrix_exp(self: Any) -> Any:
    """self (*, N, N) -> (*, N, N)."""
    return ops.linalg_matrix_exp(self)


@composite("linalg_tensorinv")
def tensorinv(self: Any, ind: int) -> Any:
    """self (*A, *B) with as many elements in A as in B, len(A) = ind -> (*B, *A)."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    if ind > self.dim():
        raise RuntimeError(f"ArrayRef: invalid slice, N = {ind}; size = {self.dim()}")
    rows, cols = tuple(self.shape[:ind]), tuple(self.shape[ind:])
    if math.prod(rows) != math.prod(cols):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{math.prod(cols)} != {math.prod(rows)}"
        )
    inverse, info = ops.linalg_inv_ex(self.reshape(math.prod(rows), math.prod(cols)))
    ops._linalg_check_errors(info, "inv", is_matrix=True)
    return inverse.reshape((*cols, *rows))


@composite("linalg_tensorsolve")
def tensorsolve(self: Any, other: Any, dims: Any) -> Any:
    """self (*B, *X), other (*B) -> (*X); as many elements in X as in B."""
    tensor = self if dims is None else self.movedim(dims, tuple(range(self.dim() - len(dims), self.dim())))
    result = tuple(tensor.shape[other.dim() :])
    rows = other.numel()
    if math.prod(result) != rows:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {math.prod(result)} != {rows}"
        )
    return ops.linalg_solve(tensor.reshape(rows, rows), other.flatten()).reshape(result)
