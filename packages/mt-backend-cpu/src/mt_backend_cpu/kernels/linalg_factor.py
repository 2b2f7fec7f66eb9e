"""Factorizations, least squares and functions of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mt_core.checks.linalg import (
    refuse_factor_pivots,
    refuse_least_squares,
    refuse_not_finite,
    refuse_pivot,
    refuse_singular_factor,
)

from ..registry import kernel
from .linalg import eigh, finite_matrices, finite_svd, or_nan, svd

Array = np.ndarray


@kernel("linalg_eig")
def eig(self: Array) -> tuple[Array, Array]:
    """self (*, N, N) -> eigenvalues (*, N), eigenvectors (*, N, N), both of complex."""
    _check_finite(self)
    values, vectors = np.linalg.eig(self)
    return values, vectors


@kernel("linalg_eigvals")
def eigvals(self: Array) -> Array:
    """self (*, N, N) -> (*, N) of complex; NaN for a matrix with infinities or NaN."""
    matrix, bad = finite_matrices(self)
    values = np.linalg.eigvals(matrix)
    return or_nan(values.astype(np.result_type(values, np.complex64)), bad)


def _check_finite(matrix: Array) -> None:
    if not np.isfinite(matrix).all():
        refuse_not_finite()


# LU


@kernel("linalg_lu_factor_ex")
def lu_factor_ex(A: Array, pivot: bool, check_errors: bool) -> tuple[Array, Array, Array]:
    """A (*, M, N) -> LU (*, M, N), pivots (*, min(M, N)) of int32, info (*) of int32."""
    batch, (m, n) = A.shape[:-2], A.shape[-2:]
    LU = np.array(A).reshape(math.prod(batch), m, n)
    pivots = np.empty((LU.shape[0], min(m, n)), np.int32)
    for matrix, swaps in zip(LU, pivots, strict=True):
        _eliminate(matrix, swaps)
    diagonal = np.diagonal(LU, axis1=-2, axis2=-1) == 0
    info = np.where(diagonal.any(-1), diagonal.argmax(-1) + 1 if diagonal.shape[-1] else 0, 0)
    if check_errors:
        refuse_singular_factor(info.tolist(), bool(batch), "torch.linalg.lu_factor_ex")
    return LU.reshape(A.shape), pivots.reshape(*batch, min(m, n)), info.reshape(batch).astype(np.int32)


#: Columns eliminated one by one before the rest of the matrix is updated by one product.
_PANEL = 32


def _eliminate(matrix: Array, swaps: Array) -> None:
    """Gaussian elimination with partial pivoting in place, in panels (Golub and Van Loan, 3.4)."""
    k, n = len(swaps), matrix.shape[1]
    for start in range(0, k, _PANEL):
        stop = min(start + _PANEL, k)
        for j in range(start, stop):
            _eliminate_column(matrix, swaps, j, stop)
        if stop < n:
            _solve_unit_lower(matrix[start:stop, start:stop], matrix[start:stop, stop:])
            matrix[stop:, stop:] -= matrix[stop:, start:stop] @ matrix[start:stop, stop:]


def _eliminate_column(matrix: Array, swaps: Array, j: int, stop: int) -> None:
    row = j + int(np.argmax(_size(matrix[j:, j])))
    swaps[j] = row + 1
    if row != j:
        matrix[[j, row]] = matrix[[row, j]]
    if matrix[j, j] != 0:
        matrix[j + 1 :, j] /= matrix[j, j]
        matrix[j + 1 :, j + 1 : stop] -= np.outer(matrix[j + 1 :, j], matrix[j, j + 1 : stop])


def _size(column: Array) -> Array:
    """LAPACK's measure for pivots: |re| + |im|."""
    return np.abs(column.real) + np.abs(column.imag) if column.dtype.kind == "c" else np.abs(column)


def _solve_unit_lower(lower: Array, right: Array) -> None:
    for i in range(1, lower.shape[0]):
        right[i] -= lower[i, :i] @ right[:i]


@kernel("lu_unpack")
def lu_unpack(LU_data: Array, LU_pivots: Array, unpack_data: bool, unpack_pivots: bool) -> tuple[Array, Array, Array]:
    """LU_data (*, M, N) -> P (*, M, M), L (*, M, K), U (*, K, N), K = min(M, N); (0,) for what is not wanted."""
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    nothing = np.empty(0, LU_data.dtype)
    lower, upper = nothing, nothing
    if unpack_data:
        lower = np.tril(LU_data[..., :, :k], -1) + np.eye(m, k, dtype=LU_data.dtype)
        upper = np.triu(LU_data[..., :k, :])
    return (_permutation(LU_data, LU_pivots) if unpack_pivots else nothing), lower, upper


def _permutation(LU: Array, pivots: Array) -> Array:
    batch, m = LU.shape[:-2], LU.shape[-2]
    rows = np.empty((*batch, m), np.intp)
    pivots = np.broadcast_to(pivots[..., : min(LU.shape[-2:])], (*batch, min(pivots.shape[-1], *LU.shape[-2:])))
    for at in np.ndindex(*batch):
        order = list(range(m))
        for i, p in enumerate(pivots[at]):
            if not 1 <= p <= m:
                refuse_pivot()
            order[i], order[p - 1] = order[p - 1], order[i]
        rows[at] = order
    # Row i of P A comes from row order[i] of A; P is the transpose of that selection.
    return np.swapaxes(np.eye(m, dtype=LU.dtype)[rows], -2, -1)


# LDL: Bunch and Kaufman's diagonal pivoting, packed as LAPACK's sytf2 and hetf2 do for the lower triangle.

_GROWTH = (1 + 17**0.5) / 8


@kernel("linalg_ldl_factor_ex")
def ldl_factor_ex(self: Array, hermitian: bool, check_errors: bool) -> tuple[Array, Array, Array]:
    """self (*, N, N) -> LD (*, N, N), pivots (*, N) of int32, info (*) of int32."""
    batch, n = self.shape[:-2], self.shape[-1]
    LD = np.tril(self).reshape(math.prod(batch), n, n)
    pivots = np.empty((LD.shape[0], n), np.int32)
    info = np.zeros(LD.shape[0], np.int32)
    conjugate = hermitian and self.dtype.kind == "c"
    for i, matrix in enumerate(LD):
        info[i] = _bunch_kaufman(matrix, pivots[i], conjugate)
    return LD.reshape(self.shape), pivots.reshape(*batch, n), info.reshape(batch)


def _bunch_kaufman(A: Array, pivots: Array, conjugate: bool) -> int:
    n, k, info = A.shape[0], 0, 0
    while k < n:
        if conjugate:
            A[k, k] = A[k, k].real
        at, width = _choose_pivot(A, k)
        if at is None:
            info, at = info or k + 1, k
        else:
            _interchange(A, k + width - 1, at, k, width, conjugate)
            _update_rest(A, k, width, conjugate)
        pivots[k : k + width] = at + 1 if width == 1 else -(at + 1)
        k += width
    return info


def _choose_pivot(A: Array, k: int) -> tuple[int | None, int]:
    """Row to bring to the pivot, and whether the pivot is 1x1 or 2x2; None for a column of zeros, or a NaN."""
    here, below = _size(A[k, k]), _size(A[k + 1 :, k])
    largest = int(np.argmax(below)) + k + 1 if below.size else k
    column = below.max() if below.size else 0
    if max(here, column) == 0 or np.isnan(here):
        return None, 1
    if here >= _GROWTH * column:
        return k, 1
    others = np.concatenate([_size(A[largest, k:largest]), _size(A[largest + 1 :, largest])])
    row = others.max()
    if here >= _GROWTH * column * (column / row):
        return k, 1
    return largest, 1 if _size(A[largest, largest]) >= _GROWTH * row else 2


def _interchange(A: Array, a: int, b: int, k: int, width: int, conjugate: bool) -> None:
    """Swap rows and columns a < b of the trailing matrix, of which only the lower triangle is stored."""
    if a == b:
        return
    A[b + 1 :, [a, b]] = A[b + 1 :, [b, a]]
    middle, across = A[a + 1 : b, a].copy(), A[b, a + 1 : b].copy()
    A[a + 1 : b, a], A[b, a + 1 : b] = (across.conj(), middle.conj()) if conjugate else (across, middle)
    if conjugate:
        A[b, a] = A[b, a].conj()
    A[a, a], A[b, b] = A[b, b], A[a, a]
    if width == 2:
        A[k + 1, k], A[b, k] = A[b, k], A[k + 1, k]


def _update_rest(A: Array, k: int, width: int, conjugate: bool) -> None:
    end = k + width
    if end >= A.shape[0]:
        return
    columns = A[end:, k:end].copy()
    scaled = columns @ np.linalg.inv(_block(A, k, width, conjugate))
    A[end:, end:] -= np.tril(scaled @ (columns.conj().T if conjugate else columns.T))
    A[end:, k:end] = scaled


def _block(A: Array, k: int, width: int, conjugate: bool) -> Array:
    """The pivot's block of D, both triangles."""
    if width == 1:
        return A[k : k + 1, k : k + 1]
    off = A[k + 1, k]
    return np.array([[A[k, k], off.conj() if conjugate else off], [off, A[k + 1, k + 1]]], A.dtype)


@kernel("linalg_ldl_solve")
def ldl_solve(LD: Array, pivots: Array, B: Array, hermitian: bool) -> Array:
    """LD (*, N, N), pivots (*, N), B (*, N, K) -> (*, N, K)."""
    batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    out = np.array(np.broadcast_to(B, (*batch, *B.shape[-2:])))
    factors, swaps = np.broadcast_to(LD, (*batch, *LD.shape[-2:])), np.broadcast_to(pivots, (*batch, LD.shape[-1]))
    conjugate = hermitian and LD.dtype.kind == "c"
    refuse_factor_pivots(np.abs(pivots), LD.shape[-1])
    for at in np.ndindex(*batch):
        _solve_ldl(factors[at], swaps[at], out[at], conjugate)
    return out


def _solve_ldl(A: Array, pivots: Array, x: Array, conjugate: bool) -> None:
    steps = _pivot_steps(pivots)
    for k, width in steps:
        _swap_rows(x, k + width - 1, abs(int(pivots[k])) - 1)
        x[k + width :] -= A[k + width :, k : k + width] @ x[k : k + width]
        x[k : k + width] = _divided(_block(A, k, width, conjugate), x[k : k + width])
    for k, width in reversed(steps):
        columns = A[k + width :, k : k + width]
        x[k : k + width] -= (columns.conj().T if conjugate else columns.T) @ x[k + width :]
        _swap_rows(x, k + width - 1, abs(int(pivots[k])) - 1)


def _divided(block: Array, x: Array) -> Array:
    """block^-1 x as LAPACK divides, without looking for zeros: a singular block gives infinities and NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if len(block) == 1:
            return x * (np.ones((), x.dtype) / block[0, 0])
        (a, b), (c, d) = block
        first, second, above, below = a / b, d / c, x[0] / b, x[1] / c
        return np.stack([second * above - below, first * below - above]) / (first * second - 1)


def _pivot_steps(pivots: Array) -> list[tuple[int, int]]:
    steps, k = [], 0
    while k < len(pivots):
        width = 1 if pivots[k] > 0 else 2
        steps.append((k, width))
        k += width
    return steps


def _swap_rows(x: Array, a: int, b: int) -> None:
    if a != b:
        x[[a, b]] = x[[b, a]]


# Householder reflectors


@kernel("geqrf")
def geqrf(self: Array) -> tuple[Array, Array]:
    """self (*, M, N) -> reflectors (*, M, N), tau (*, min(M, N))."""
    if not self.size:
        return self.copy(), np.zeros((*self.shape[:-2], min(self.shape[-2:])), self.dtype)
    transposed, tau = np.linalg.qr(self, "raw")
    return np.swapaxes(transposed, -2, -1).astype(self.dtype), tau


# Singular values


def _cutoff(values: Array, shape: tuple[int, ...], atol: Any, rtol: Any) -> Array:
    """Up to where singular values count as zero: max(atol, rtol * largest), with a last dimension of 1."""
    if rtol is None:
        rounding = np.finfo(values.dtype).eps * max(shape[-2:])
        rtol = rounding if atol is None else np.where(np.asarray(atol) > 0, 0.0, rounding)
    largest = values.max(-1) if values.shape[-1] else np.zeros(values.shape[:-1], values.dtype)
    bound = np.asarray(rtol) * largest
    return np.asarray(bound if atol is None else np.maximum(atol, bound), values.dtype)[..., None]


def _inverse_values(values: Array, cutoff: Array) -> Array:
    kept = np.abs(values) > cutoff
    return np.where(kept, 1 / np.where(kept, values, 1), 0).astype(values.dtype)


@kernel("linalg_pinv.atol_rtol_tensor")
def pinv(self: Array, atol: Any, rtol: Any, hermitian: bool) -> Array:
    """self (*, M, N) -> (*, N, M)."""
    if not self.size:
        return np.zeros((*self.shape[:-2], self.shape[-1], self.shape[-2]), self.dtype)
    if hermitian:
        values, vectors = eigh(self, "L")
        inverse = _inverse_values(values, _cutoff(np.abs(values), self.shape, atol, rtol))
        return (vectors * inverse[..., None, :]) @ np.conj(np.swapaxes(vectors, -2, -1))
    u, s, vh = svd(self, False, None)
    inverse = _inverse_values(s, _cutoff(s, self.shape, atol, rtol))
    return np.conj(np.swapaxes(vh, -2, -1)) @ (inverse[..., :, None] * np.conj(np.swapaxes(u, -2, -1)))


@kernel("linalg_lstsq")
def lstsq(self: Array, b: Array, rcond: float | None, driver: str | None) -> tuple[Array, Array, Array, Array]:
    """self (*, M, N), b (*, M, K) -> solution (*, N, K), residuals (*, K), rank (*), singular values (*, min(M, N))."""
    vector = b.ndim < self.ndim
    right = b[..., None] if vector else b
    m, n = self.shape[-2:]
    _refuse_nonfinite(self, right, driver)
    u, s, vh = finite_svd(self, False)
    relative = np.finfo(s.dtype).eps * max(m, n) if rcond is None else rcond
    cutoff = _cutoff(s, self.shape, None, relative if relative >= 0 else np.finfo(s.dtype).eps)
    coordinates = np.conj(np.swapaxes(u, -2, -1)) @ right
    solution = np.conj(np.swapaxes(vh, -2, -1)) @ (_inverse_values(s, cutoff)[..., None] * coordinates)
    rank = (s > cutoff).sum(-1)
    if driver in (None, "gelsy"):
        solution, rank = _with_infinite_pivots(self, solution, rank)
    residuals = np.empty(0, s.dtype)
    if m > n and driver not in (None, "gelsy") and (driver == "gels" or (rank == n).all()):
        residuals = (np.abs(self @ solution - right) ** 2).sum(-2)
    nothing = np.empty(0, s.dtype)
    return (
        solution[..., 0] if vector else solution,
        residuals,
        np.asarray(rank) if driver != "gels" else np.empty(0, np.int64),
        s if driver in ("gelsd", "gelss") else nothing,
    )


def _refuse_nonfinite(A: Array, B: Array, driver: str | None) -> None:
    """Refuse NaN, which no driver of least squares takes, and infinities where the driver does not take them."""
    nan = _first(np.isnan(A).any((-2, -1)), np.isnan(B).any((-2, -1)))
    if nan is not None:
        refuse_least_squares("the input contains NaN", *nan)
    infinite = _first(np.isinf(A).any((-2, -1)))
    if infinite is not None and driver == "gelsd":
        refuse_least_squares("the input matrix contains infinities", *infinite)
    if infinite is not None and driver == "gels":
        order = 2 if np.isinf(A[..., 0]).any(-1).reshape(-1)[infinite[0]] else 1
        refuse_least_squares(f"the input matrix does not have full rank (error code: {order})", *infinite)


def _first(*found: Array) -> tuple[int, bool] | None:
    """Number of the first matrix for which something was found, and whether there are several to count."""
    hit = next((f for f in found if f.any()), None)
    return None if hit is None else (int(hit.argmax()), hit.ndim > 0)


def _with_infinite_pivots(A: Array, solution: Array, rank: Any) -> tuple[Array, Array]:
    """A pivot that is infinite counts as one, and what is divided by it is NaN; as LAPACK's gelsy has it.

    It pivots on the first column: of matrices with infinities in others alone nothing is left.
    """
    infinite = np.isinf(A)
    if not infinite.any():
        return solution, rank
    pivots = infinite[..., 0].any(-1)
    alone = infinite[..., 0, 0] & (infinite.sum((-2, -1)) == 1)
    rows = np.arange(A.shape[-1]) == 0
    lost = pivots[..., None] & (rows | ~alone[..., None])
    return np.where(lost[..., None], np.asarray(np.nan, solution.dtype), solution), np.where(pivots, 1, rank)


# The exponential: scaling and squaring around a diagonal Pade approximant of degree 13 (Higham 2005).

_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0,
    670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
#: Norm up to which the approximant is exact to double precision.
_RADIUS = 5.371920351148152


@kernel("linalg_matrix_exp")
def matrix_exp(self: Array) -> Array:
    """self (*, N, N) -> (*, N, N)."""
    if not self.size:
        return self.copy()
    A = self.astype(np.complex128 if self.dtype.kind == "c" else np.float64)
    norm = np.abs(A).sum(-2).max(-1)
    finite = np.isfinite(norm)
    halvings = np.ceil(np.log2(np.where(finite & (norm > _RADIUS), norm / _RADIUS, 1))).astype(int)
    result = _pade(np.where(finite[..., None, None], A, 0) / np.exp2(halvings)[..., None, None])
    for step in range(int(halvings.max(initial=0))):
        result = np.where((halvings > step)[..., None, None], result @ result, result)
    result = np.where(finite[..., None, None], result, np.nan)
    return result.astype(self.dtype)


def _pade(A: Array) -> Array:
    identity = np.eye(A.shape[-1], dtype=A.dtype)
    c, A2 = _PADE, A @ A
    A4 = A2 @ A2
    A6 = A4 @ A2
    odd = A @ (A6 @ (c[13] * A6 + c[11] * A4 + c[9] * A2) + c[7] * A6 + c[5] * A4 + c[3] * A2 + c[1] * identity)
    even = A6 @ (c[12] * A6 + c[10] * A4 + c[8] * A2) + c[6] * A6 + c[4] * A4 + c[2] * A2 + c[0] * identity
    return np.linalg.solve(even - odd, even + odd)
