"""Sample inputs: linear algebra."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import dtypes
from ..sample import call, cases, comparable, constant_results, constants, domain

SQUARE = (lambda t: call(t.definite(3, 3)), lambda t: call(t.definite(2, 3, 3)))
TALL = (lambda t: call(t(4, 3)), lambda t: call(t(2, 3, 4)))

cases(
    "linalg_vector_norm",
    lambda t: call(t(3, 4)),
    lambda t: call(t(3, 4), 1, [1], True),
    lambda t: call(t(3, 4), float("inf"), [0], dtype=dtypes.float64),
)
cases("linalg_matrix_norm", lambda t: call(t(3, 4), 1), lambda t: call(t(2, 3, 4), 2, keepdim=True))
cases("linalg_matrix_norm.str_ord", lambda t: call(t(3, 4)), lambda t: call(t(2, 3, 4), "nuc"))
cases("linalg_norm", lambda t: call(t(3, 4)), lambda t: call(t(3, 4), 2, [1]))
cases("linalg_norm.ord_str", lambda t: call(t(3, 4), "fro"))
cases("linalg_vecdot", lambda t: call(t(2, 3), t(2, 3)), lambda t: call(t(2, 3), t(2, 3), dim=0))
cases("linalg_cross cross", lambda t: call(t(2, 3), t(2, 3)), lambda t: call(t(3, 2), t(3, 2), dim=0))
cases("linalg_diagonal", lambda t: call(t(2, 3, 4)), lambda t: call(t(2, 3, 4), offset=1, dim1=0, dim2=2))
cases("linalg_multi_dot chain_matmul", lambda t: call([t(2, 3), t(3, 4), t(4, 5)]))
cases(
    "linalg_matrix_power matrix_power",
    lambda t: call(t(3, 3), 3),
    lambda t: call(t.definite(3, 3), -1),
    lambda t: call(t(2, 3, 3), 0),
)
cases("linalg_vander", lambda t: call(t(3)), lambda t: call(t(2, 3), N=2))
cases("linalg_inv_ex linalg_inv inverse _linalg_det linalg_det det linalg_slogdet slogdet logdet", *SQUARE)
cases(
    "linalg_cholesky_ex linalg_cholesky cholesky linalg_eigh linalg_eigvalsh cholesky_inverse linalg_matrix_exp "
    "matrix_exp linalg_ldl_factor linalg_ldl_factor_ex",
    *SQUARE,
)
cases("linalg_cholesky_ex linalg_cholesky", lambda t: call(t.definite(3, 3), upper=True))
cases("linalg_eig linalg_eigvals linalg_lu_factor linalg_lu_factor_ex linalg_lu _lu_with_info linalg_cond", *SQUARE)
cases("linalg_cond", lambda t: call(t.definite(3, 3), 1))
cases("linalg_cond.p_str", lambda t: call(t.definite(3, 3), "fro"))
cases(
    "linalg_solve_ex linalg_solve",
    lambda t: call(t.definite(3, 3), t(3, 2)),
    lambda t: call(t.definite(2, 3, 3), t(2, 3)),
    lambda t: call(t.definite(3, 3), t(2, 3), left=False),
)
cases("linalg_qr qr linalg_svd linalg_svdvals svd geqrf", *TALL)
cases("linalg_qr", lambda t: call(t(4, 3), "complete"), lambda t: call(t(3, 4), "r"))
cases("linalg_svd svd", lambda t: call(t(4, 3), False))
cases(
    "linalg_solve_triangular",
    lambda t: call(t.definite(3, 3), t(3, 2), upper=True),
    lambda t: call(t.definite(3, 3), t(2, 3), upper=False, left=False),
)
PIVOTS = ([1, 2, 3], dtypes.int32)
cases("linalg_lu_solve", lambda t: call(t.definite(3, 3), t.of(*PIVOTS), t(3, 2)))
cases("lu_unpack", lambda t: call(t(3, 3), t.of(*PIVOTS)))
cases("lu_solve", lambda t: call(t(3, 2), t.definite(3, 3), t.of(*PIVOTS)))
cases("linalg_ldl_solve", lambda t: call(t.definite(3, 3), t.of(*PIVOTS), t(3, 2)))
cases("linalg_householder_product orgqr", lambda t: call(t(4, 3), t(3)))
cases("ormqr", lambda t: call(t(4, 3), t(3), t(4, 2)))
cases("triangular_solve", lambda t: call(t(3, 2), t.definite(3, 3)))
cases("cholesky_solve", lambda t: call(t(3, 2), t.definite(3, 3)))
cases("linalg_lstsq", lambda t: call(t(4, 3), t(4, 2)))
cases(
    "linalg_pinv.atol_rtol_tensor linalg_pinv.atol_rtol_float linalg_matrix_rank.atol_rtol_tensor "
    "linalg_matrix_rank.atol_rtol_float pinverse",
    *TALL,
)
cases("linalg_pinv linalg_matrix_rank", lambda t: call(t(4, 3), 0.01))
cases("linalg_pinv.rcond_tensor linalg_matrix_rank.tol_tensor", lambda t: call(t(4, 3), t.of(0.01)))
constants("linalg_pinv.atol_rtol_tensor", "atol", "rtol")
constants("linalg_pinv.rcond_tensor", "rcond")
cases("linalg_tensorinv", lambda t: call(t.definite(4, 4).view(2, 2, 4), 2))
cases("linalg_tensorsolve", lambda t: call(t.definite(4, 4).view(2, 2, 4), t(2, 2)))


# Signs and phases of singular and eigenvectors are free: what they satisfy is compared.


def _adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def _singular(u: Any, s: Any, vh: Any) -> Iterator[Any]:
    k = s.shape[-1]
    yield s
    yield (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
    yield from (_adjoint(u) @ u, vh @ _adjoint(vh))


def _eigen(arguments: list[Any], results: list[Any]) -> Iterator[Any]:
    values, vectors = results
    yield np.sort(values)
    yield arguments[0] @ vectors - vectors * values[..., None, :]
    yield np.linalg.norm(vectors, axis=-2)


def _orthogonal_factors(arguments: list[Any], results: list[Any]) -> Iterator[Any]:
    q, r = results
    yield np.abs(r)
    if q.size:
        yield from (q @ r, _adjoint(q) @ q)


def _hermitian(a: Any, *rest: Any) -> list[Any]:
    return [(a + a.mH) / 2, *rest]


def _triangular(a: Any, *rest: Any) -> list[Any]:
    return [a.tril() if not rest or not rest[0] else a.triu(), *rest]


def _triangular_second(b: Any, a: Any, *rest: Any) -> list[Any]:
    return [b, *_triangular(a, *rest)]


domain("cholesky linalg_cholesky linalg_cholesky_ex linalg_eigh linalg_eigvalsh", _hermitian)
domain("cholesky_inverse", _triangular)
domain("cholesky_solve", _triangular_second)
constant_results("linalg_lstsq", 1, 3)
comparable("linalg_svd", lambda arguments, results: _singular(*results))
comparable("svd", lambda arguments, results: _singular(results[0], results[1], _adjoint(results[2])))
comparable("linalg_eigh linalg_eig", _eigen)
comparable("linalg_eigvals", lambda arguments, results: [np.sort(results[0])])
comparable("linalg_qr qr", _orthogonal_factors)
cases(
    "linalg_matmul",
    *[
        lambda t, d=d: call(t(2, 3, dtype=d), t(3, 4, dtype=d))
        for d in (dtypes.float32, dtypes.bfloat16, dtypes.int64, dtypes.complex64)
    ],
    lambda t: call(t(3), t(3)),
    lambda t: call(t(2, 3), t(3)),
    lambda t: call(t(2, 1, 2, 3), t(4, 3, 5)),
)

# Arguments away from their defaults.
cases("cholesky linalg_cholesky linalg_cholesky_ex", lambda t: call(t.definite(2, 3, 3), True))
cases("cholesky_inverse", lambda t: call(t.definite(3, 3), True))
cases("cholesky_solve", lambda t: call(t(3, 2), t.definite(3, 3), True))
cases("linalg_cholesky_ex linalg_inv_ex", lambda t: call(t.definite(3, 3), check_errors=True))
cases("linalg_eigh linalg_eigvalsh", lambda t: call(t(3, 3), "U"), lambda t: call(t(3, 3, dtype=dtypes.complex64)))
cases("linalg_cond.p_str", lambda t: call(t.definite(3, 3), "nuc"))
cases("linalg_ldl_factor linalg_ldl_factor_ex", lambda t: call(t.definite(3, 3), hermitian=True))
cases("linalg_ldl_solve", lambda t: call(t.definite(3, 3), t.of(*PIVOTS), t(3, 1), hermitian=True))
cases("linalg_lstsq", lambda t: call(t(4, 3), t(4, 2), 1e-3, driver="gelsd"), lambda t: call(t(3, 4), t(3, 2)))
cases("linalg_lu linalg_lu_factor linalg_lu_factor_ex", lambda t: call(t(4, 3)), lambda t: call(t(3, 4)))
cases("linalg_lu_factor_ex linalg_ldl_factor_ex", lambda t: call(t.definite(3, 3), check_errors=True))
cases("_lu_with_info", lambda t: call(t(4, 3), True, False))
cases(
    "linalg_lu_solve",
    lambda t: call(t.definite(3, 3), t.of(*PIVOTS), t(2, 3), left=False),
    lambda t: call(t.definite(3, 3), t.of([2, 3, 3], dtypes.int32), t(3, 2), adjoint=True),
)
cases("lu_unpack", lambda t: call(t(3, 4), t.of([2, 3, 3], dtypes.int32)))
cases("lu_unpack", lambda t: call(t(3, 3), t.of(*PIVOTS), unpack_pivots=False))
cases("lu_unpack", lambda t: call(t(4, 3), t.of(*PIVOTS), unpack_data=False))
cases("lu_solve", lambda t: call(t(3, 2), t.definite(3, 3), t.of([2, 3, 3], dtypes.int32)))
F64 = dtypes.float64
cases(
    "linalg_matrix_norm",
    lambda t: call(t(3, 4, 2), float("inf"), [0, 2], True, dtype=F64),
    lambda t: call(t(3, 4), -1),
    lambda t: call(t(3, 4), -2),
)
cases("linalg_matrix_norm.str_ord", lambda t: call(t(3, 4, 2), "fro", [0, 1], True, dtype=F64))
cases(
    "linalg_norm",
    lambda t: call(t(3, 4), 1, [0, 1], True, dtype=F64),
    lambda t: call(t(6), float("-inf")),
    lambda t: call(t(6), 0),
    lambda t: call(t(3, 4), 0.5, [0]),
)
cases("linalg_norm.ord_str", lambda t: call(t(3, 4, 2), "nuc", [0, 2], True, dtype=F64))
cases("linalg_vector_norm", *[lambda t, p=p: call(t(3, 4), p, [1]) for p in (0, 0.5, 3, float("-inf"))])
_RANKS = "linalg_matrix_rank.atol_rtol_float linalg_pinv.atol_rtol_float"
cases(_RANKS, lambda t: call(t(4, 3), atol=1.5), lambda t: call(t(4, 3), rtol=0.5))
cases(_RANKS, lambda t: call(t.definite(3, 3), atol=0.1, rtol=0.1, hermitian=True))
_RANKS = "linalg_matrix_rank.atol_rtol_tensor linalg_pinv.atol_rtol_tensor"
cases(_RANKS, lambda t: call(t(4, 3), atol=t.of(1.5)), lambda t: call(t(4, 3), rtol=t.of(0.5)))
cases(_RANKS, lambda t: call(t.definite(3, 3), atol=t.of(0.1), rtol=t.of(0.1), hermitian=True))
cases("linalg_pinv linalg_matrix_rank", lambda t: call(t.definite(3, 3), 0.5, True))
cases("linalg_pinv.rcond_tensor linalg_matrix_rank.tol_tensor", lambda t: call(t.definite(3, 3), t.of(0.5), True))
cases("pinverse", lambda t: call(t(4, 3), 0.5))
cases("linalg_solve_triangular", lambda t: call(t.definite(3, 3), t(3, 2), upper=True, unitriangular=True))
cases(
    "triangular_solve",
    lambda t: call(t(3, 2), t.definite(3, 3), False, True),
    lambda t: call(t(3, 2), t.definite(3, 3), unitriangular=True),
)
cases("linalg_svd", lambda t: call(t(4, 3), False, driver=None), lambda t: call(t(3, 3, dtype=dtypes.complex64)))
cases("svd", lambda t: call(t(4, 3), True, False))
cases("qr", lambda t: call(t(4, 3), False), lambda t: call(t(3, 4)))
cases("ormqr", lambda t: call(t(4, 3), t(3), t(2, 4), False), lambda t: call(t(4, 3), t(3), t(4, 2), True, True))
cases("linalg_tensorinv", lambda t: call(t.definite(6, 6).view(6, 2, 3), 1))
cases("linalg_tensorsolve", lambda t: call(t.definite(6, 6).view(2, 6, 3).permute(0, 2, 1), t(2, 3), dims=[0]))
cases("linalg_multi_dot", lambda t: call([t(3), t(3, 4), t(4)]), lambda t: call([t(2, 3), t(3, 2)]))
cases("chain_matmul", lambda t: call([t(5, 2), t(2, 3), t(3, 4), t(4, 2)]))
cases("linalg_householder_product orgqr", lambda t: call(t(2, 4, 3), t(2, 2)))
cases("linalg_solve_ex", lambda t: call(t.definite(3, 3), t(3), check_errors=True))
cases("linalg_inv_ex linalg_eig linalg_det linalg_slogdet logdet", lambda t: call(t.definite(3, 3, dtype=F64)))
cases("frobenius_norm.dim", lambda t: call(t(3, 4), [1]), lambda t: call(t(2, 3, 4), [0, 2], True))
cases("nuclear_norm", lambda t: call(t(3, 4)), lambda t: call(t(4, 3), True))
cases("nuclear_norm.dim", lambda t: call(t(2, 3, 4), [0, 2], True), lambda t: call(t(2, 3, 4), [1, 2]))
cases("_norm_over", lambda t: call(t(2, 3), 2, [1]), lambda t: call(t(2, 3), 3.0, [0], keepdim=True))
cases(
    "_linalg_check_errors",
    lambda t: call(t.of(0, dtypes.int32), "linalg.inv", is_matrix=True),
    lambda t: call(t.of([0, 0], dtypes.int32), "torch.linalg.lu_factor", is_matrix=False),
)
