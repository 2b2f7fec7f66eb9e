"""Linear algebra over NumPy's LAPACK."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from mt_core.checks.linalg import refuse_nan, refuse_no_convergence, refuse_singular

from ..registry import kernel
from .reduction import _keep, accurate_sum


@kernel("linalg_vector_norm")
def vector_norm(self: np.ndarray, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; real."""
    if dtype is not None:
        self = self.astype(dtype.compute.numpy_dtype)
    order = float(ord)
    if order == 2:
        squares = self.real**2 + self.imag**2 if self.dtype.kind == "c" else self * self
        return _keep(np.asarray(np.sqrt(accurate_sum(squares, dim))), self, dim, keepdim)
    size = np.abs(self)
    if order == 1:
        result = accurate_sum(size, dim)
    elif order == np.inf:
        result = np.max(size, axis=dim)
    elif order == -np.inf:
        result = np.min(size, axis=dim)
    elif order == 0:
        result = accurate_sum((size != 0).astype(size.dtype), dim)
    else:
        power = np.asarray(order, size.dtype)
        result = np.power(accurate_sum(np.power(size, power), dim), np.asarray(1 / order, size.dtype))
    return _keep(np.asarray(result), self, dim, keepdim)


@kernel("_norm_over")
def norm_over(self: np.ndarray, p: Any, dim: Any, keepdim: bool) -> Any:
    """self (*S) -> S without the dimensions `dim`, or 1 there with `keepdim`; real."""
    return vector_norm(self, p, dim, keepdim, None)


def _info(A: np.ndarray, bad: Any = None) -> np.ndarray:
    found = np.zeros(A.shape[:-2], np.int32)
    if bad is not None:
        found[...] = bad
    return found


def _each(
    A: np.ndarray,
    function: Any,
    shape: tuple[int, ...],
    *others: np.ndarray,
    order_of_failure: Callable[[np.ndarray], int] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A LAPACK call for batches in which some matrix fails, each half on its own until one is left: (results, info)."""
    batch = A.shape[:-2]
    count = math.prod(batch)
    out, info = np.full((count, *shape), np.nan, A.dtype), np.zeros(count, np.int32)
    arguments = [a.reshape(count, *a.shape[len(batch) :]) for a in (A, *others)]
    order_of_failure = order_of_failure or _first_failure

    def call(start: int, stop: int) -> None:
        try:
            out[start:stop] = function(*[a[start:stop] for a in arguments])
        except np.linalg.LinAlgError:
            if stop - start == 1:
                info[start] = order_of_failure(arguments[0][start])
                return
            middle = (start + stop) // 2
            call(start, middle)
            call(middle, stop)

    if count:
        call(0, count)
    return out.reshape(*batch, *shape), info.reshape(batch)


def _first_failure(matrix: np.ndarray) -> int:
    """Order (from 1) of the first leading minor that is singular."""
    for k in range(1, matrix.shape[0] + 1):
        if np.linalg.det(matrix[:k, :k]) == 0:
            return k
    return matrix.shape[0]


def _checked(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator of a kernel that ends in ``check_errors`` and returns ``info`` last: have it raise when asked to."""

    def wrap(function: Any) -> Any:
        def run(*args: Any) -> Any:
            results = function(*args)
            if args[-1]:
                refuse_singular(results[-1].reshape(-1).tolist(), results[-1].ndim > 0, name)
            return results

        return run

    return wrap


@kernel("linalg_inv_ex")
@_checked("linalg.inv_ex")
def inv_ex(A: np.ndarray, check_errors: bool) -> tuple[np.ndarray, np.ndarray]:
    """A (*, N, N) -> inverse (*, N, N), info (*) of int32."""
    try:
        return np.linalg.inv(A), _info(A)
    except np.linalg.LinAlgError:
        return _each(A, np.linalg.inv, A.shape[-2:])


@kernel("linalg_solve_ex")
@_checked("torch.linalg.solve_ex")
def solve_ex(A: np.ndarray, B: np.ndarray, left: bool, check_errors: bool) -> tuple[np.ndarray, np.ndarray]:
    """A (*, N, N), B (*, N, K) or (*, N) -> result like B, info (*) of int32; B (*, K, N) from the right."""
    vector = B.ndim == 1 or A.ndim - 1 == B.ndim and A.shape[:-1] == B.shape
    right = B[..., None] if vector else B
    if not left:
        A, right = A.swapaxes(-2, -1), right.swapaxes(-2, -1)
    try:
        result, info = np.linalg.solve(A, right), _info(A)
    except np.linalg.LinAlgError:
        batch = np.broadcast_shapes(A.shape[:-2], right.shape[:-2])
        wide = np.broadcast_to(A, (*batch, *A.shape[-2:]))
        result, info = _each(
            wide, np.linalg.solve, right.shape[-2:], np.broadcast_to(right, (*batch, *right.shape[-2:]))
        )
    if not left:
        result = result.swapaxes(-2, -1)
    return (result[..., 0] if vector else result), info


@kernel("_linalg_det")
def det(A: np.ndarray) -> Any:
    """A (*, N, N) -> (*)."""
    return np.asarray(np.linalg.det(A))


@kernel("linalg_slogdet")
def slogdet(A: np.ndarray) -> tuple[Any, Any]:
    """A (*, N, N) -> sign (*), logabsdet (*) of real. Of a real determinant that is no number, the sign is 0."""
    sign, logs = np.linalg.slogdet(A)
    if A.dtype.kind == "f" and np.isnan(logs).any():
        sign = np.where(np.isnan(logs), np.zeros((), A.dtype), sign)
    return np.asarray(sign), np.asarray(logs)


@kernel("linalg_cholesky_ex")
@_checked("linalg.cholesky_ex")
def cholesky_ex(self: np.ndarray, upper: bool, check_errors: bool) -> tuple[np.ndarray, np.ndarray]:
    """self (*, N, N) -> L (*, N, N), info (*) of int32."""
    matrix = np.conj(self.swapaxes(-2, -1)) if upper else self
    try:
        factor = np.linalg.cholesky(matrix)
        info = _first_nan(np.diagonal(factor, axis1=-2, axis2=-1))
    except np.linalg.LinAlgError:
        factor, info = _each(matrix, np.linalg.cholesky, matrix.shape[-2:], order_of_failure=_not_definite)
        info = np.where(info == 0, _first_nan(np.diagonal(factor, axis1=-2, axis2=-1)), info)
    return (np.conj(factor.swapaxes(-2, -1)) if upper else factor), info


def _first_nan(diagonal: np.ndarray) -> np.ndarray:
    """Order (from 1) of the first NaN on the diagonals (*, N) of Cholesky factors, or 0: (*) of int32."""
    found = np.isnan(diagonal)
    return np.where(found.any(-1), found.argmax(-1) + 1 if found.shape[-1] else 0, 0).astype(np.int32)


def _not_definite(matrix: np.ndarray) -> int:
    """Order of the first leading minor that is not positive definite."""
    for k in range(1, matrix.shape[0] + 1):
        try:
            np.linalg.cholesky(matrix[:k, :k])
        except np.linalg.LinAlgError:
            return k
    return matrix.shape[0]


@kernel("linalg_qr")
def qr(A: np.ndarray, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """A (*, M, N) -> Q (*, M, K), R (*, K, N), K = min(M, N); complete: K = M; mode r: Q (0,)."""
    if mode == "r":
        return np.empty(0, A.dtype), cast(np.ndarray, np.linalg.qr(A, "r"))
    q, r = np.linalg.qr(A, "complete" if mode == "complete" else "reduced")
    return q, r


# LAPACK may never return from infinities and NaN: what holds any is told apart before it is called.


def finite_matrices(A: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """A (*, M, N) with zeros for matrices that are not finite, and which those are (*); None where there are none."""
    if np.isfinite(A).all():
        return A, None
    bad = ~np.isfinite(A).all((-2, -1))
    return np.where(bad[..., None, None], np.zeros((), A.dtype), A), bad


def or_nan(values: np.ndarray, bad: np.ndarray | None) -> np.ndarray:
    """Values (*, K) with NaN for the matrices that are not finite."""
    return values if bad is None else _nan_where(bad[..., None], values)


def or_nan_vectors(A: np.ndarray, bad: np.ndarray | None, *vectors: np.ndarray) -> tuple[np.ndarray, ...]:
    """Each of the vectors (*, M, K) with NaN for the matrices A that are not finite, unless they are diagonal."""
    if bad is None:
        return vectors
    rows, columns = A.shape[-2:]
    beside = np.where(np.eye(rows, columns, dtype=np.bool_), 0, A) if rows == columns else A
    lost = (bad & beside.any((-2, -1)))[..., None, None]
    return tuple([_nan_where(lost, each) for each in vectors])


def _nan_where(bad: np.ndarray, values: np.ndarray) -> np.ndarray:
    nan = complex(np.nan, np.nan) if values.dtype.kind == "c" else np.nan
    return np.where(bad, np.asarray(nan, values.dtype), values)


@kernel("linalg_eigh")
def eigh(self: np.ndarray, UPLO: str) -> tuple[np.ndarray, np.ndarray]:
    """self (*, N, N) -> eigenvalues (*, N) of real, eigenvectors (*, N, N).

    Of a matrix with an infinity or NaN in the triangle that is read, the values are NaN, and so are the vectors, but
    for a diagonal matrix, whose vectors are unit vectors.
    """
    triangle = np.tril(self) if UPLO.upper() == "L" else np.triu(self)
    matrix, bad = finite_matrices(triangle)
    try:
        values, vectors = np.linalg.eigh(matrix, UPLO.upper())  # type: ignore[arg-type]
    except np.linalg.LinAlgError:
        refuse_no_convergence("linalg.eigh", "eigenvalues")
    (vectors,) = or_nan_vectors(triangle, bad, vectors)
    return or_nan(values, bad), vectors


@kernel("linalg_svd")
def svd(A: np.ndarray, full_matrices: bool, driver: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A (*, M, N) -> U (*, M, K), S (*, K) of real, Vh (*, K, N), K = min(M, N); full: U (*, M, M), Vh (*, N, N).

    Of a matrix with an infinity, everything is NaN, but for a diagonal one, whose vectors are unit vectors.
    """
    u, s, vh = finite_svd(A, full_matrices)
    _, bad = finite_matrices(A)
    u, vh = or_nan_vectors(A, bad, u, vh)
    return u, s, vh


def finite_svd(A: np.ndarray, full_matrices: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `svd`: values of matrices with infinities are NaN, beside unit vectors.

    Raises
    ------
    LinAlgError
        For NaN.
    """
    matrix, bad = finite_matrices(A)
    if bad is not None:
        found = np.isnan(A).any((-2, -1))
        if found.any():
            refuse_nan(int(found.argmax()), found.ndim > 0)
    try:
        u, s, vh = np.linalg.svd(matrix, full_matrices)
    except np.linalg.LinAlgError:
        refuse_no_convergence("linalg.svd", "singular values")
    return u, or_nan(s, bad), vh


@kernel("linalg_solve_triangular")
def solve_triangular(self: np.ndarray, B: np.ndarray, upper: bool, left: bool, unitriangular: bool) -> np.ndarray:
    """self (*, N, N), B (*, N, K) -> (*, N, K); B (*, K, N) from the right."""
    matrix, B = np.triu(self) if upper else np.tril(self), B.astype(self.dtype, copy=False)
    if unitriangular:
        diagonal = np.arange(matrix.shape[-1])
        matrix[..., diagonal, diagonal] = 1
    if not left:
        matrix, B = matrix.swapaxes(-2, -1), B.swapaxes(-2, -1)
        upper = not upper
    result = _substitute(matrix, B, upper)
    return result if left else result.swapaxes(-2, -1)


def _substitute(matrix: np.ndarray, B: np.ndarray, upper: bool) -> np.ndarray:
    """Forward or back substitution, row by row over all batches at once."""
    batch = np.broadcast_shapes(matrix.shape[:-2], B.shape[:-2])
    out = np.array(np.broadcast_to(B, (*batch, *B.shape[-2:])))
    n = matrix.shape[-1]
    for i in reversed(range(n)) if upper else range(n):
        known = slice(i + 1, n) if upper else slice(0, i)
        done = np.matmul(matrix[..., i : i + 1, known], out[..., known, :])[..., 0, :]
        out[..., i, :] = (out[..., i, :] - done) / matrix[..., i, i][..., None]
    return out
