"""Derivatives of linear algebra against finite differences."""

from __future__ import annotations

from typing import Any

import pytest
from derivative_cases import check_both_orders, inputs_of, positive_definite

import mt_autograd
from mt_core.testing.namespace import namespace

torch = namespace(autograd=mt_autograd)

L = torch.linalg


def _spd_triangle(a: Any) -> Any:
    return L.cholesky(positive_definite(a))


def _triangular_solve(b: Any, a: Any, transpose: bool) -> Any:
    return torch.triangular_solve(b, _spd_triangle(a), upper=False, transpose=transpose).solution


def _lstsq(a: Any, b: Any) -> Any:
    return L.lstsq(a, b, driver="gelsd")[:2]


CASES = {
    "inv": (lambda a: L.inv(positive_definite(a)), [(3, 3)]),
    "solve": (lambda a, b: L.solve(positive_definite(a), b), [(2, 3, 3), (2, 3, 2)]),
    "solve_right": (lambda a, b: L.solve(positive_definite(a), b, left=False), [(3, 3), (2, 3)]),
    "solve_triangular": (lambda a, b: L.solve_triangular(_spd_triangle(a), b, upper=False), [(3, 3), (3, 2)]),
    "triangular_solve": (lambda b, a: _triangular_solve(b, a, transpose=True), [(3, 2), (3, 3)]),
    "cholesky": (_spd_triangle, [(2, 3, 3)]),
    "cholesky_upper": (lambda a: L.cholesky(positive_definite(a), upper=True), [(3, 3)]),
    "cholesky_solve": (lambda b, a: torch.cholesky_solve(b, _spd_triangle(a)), [(3, 2), (3, 3)]),
    "cholesky_inverse": (lambda a: torch.cholesky_inverse(_spd_triangle(a)), [(3, 3)]),
    "det": (L.det, [(2, 3, 3)]),
    "slogdet": (lambda a: L.slogdet(positive_definite(a))[1], [(3, 3)]),
    "matrix_power": (lambda a: L.matrix_power(a, 3), [(3, 3)]),
    "matrix_exp": (L.matrix_exp, [(3, 3)]),
    "qr_tall": (L.qr, [(4, 3)]),
    "qr_wide": (L.qr, [(3, 4)]),
    "eigh": (lambda a: _gauge_free(*L.eigh(a + a.mH)), [(3, 3)]),
    "svd": (lambda a: L.svd(a, full_matrices=False)[1], [(4, 3)]),
    "pinv_tall": (L.pinv, [(4, 3)]),
    "pinv_wide": (L.pinv, [(2, 3, 4)]),
    "lu_factor": (lambda a: L.lu_factor(a)[0], [(3, 3)]),
    "lu_factor_tall": (lambda a: L.lu_factor(a)[0], [(4, 3)]),
    "lu_factor_wide": (lambda a: L.lu_factor(a)[0], [(3, 4)]),
    "lu": (lambda a: L.lu(a)[1:], [(4, 3)]),
    "lu_solve": (lambda a, b: torch.lu_solve(b, *L.lu_factor(a)), [(3, 3), (3, 2)]),
    "lu_solve_adjoint": (lambda a, b: L.lu_solve(*L.lu_factor(a), b, adjoint=True), [(3, 3), (3, 2)]),
    "lu_solve_right": (lambda a, b: L.lu_solve(*L.lu_factor(a), b, left=False), [(3, 3), (2, 3)]),
    "lstsq_tall": (_lstsq, [(4, 3), (4, 2)]),
    "lstsq_wide": (lambda a, b: L.lstsq(a, b)[0], [(3, 4), (3, 2)]),
    "lstsq_vector": (lambda a, b: L.lstsq(a, b)[0], [(2, 4, 3), (2, 4)]),
    "householder_product": (L.householder_product, [(4, 3), (3,)]),
    "ormqr": (lambda a, t, c: torch.ormqr(a, t, c, left=False, transpose=True), [(4, 3), (3,), (2, 4)]),
    "vector_norm": (lambda a: L.vector_norm(a, 3, dim=1), [(3, 4)]),
    "matrix_norm_nuc": (lambda a: L.matrix_norm(a, "nuc"), [(3, 4)]),
    "cond": (lambda a: L.cond(positive_definite(a), "fro"), [(3, 3)]),
    "cond_1": (lambda a: L.cond(positive_definite(a), 1), [(3, 3)]),
    "multi_dot": (lambda a, b, c: L.multi_dot([a, b, c]), [(2, 3), (3, 4), (4, 2)]),
    "tensorinv": (lambda a: L.tensorinv(a, ind=1), [(4, 2, 2)]),
    "tensorsolve": (L.tensorsolve, [(2, 2, 4), (2, 2)]),
    "vander": (L.vander, [(2, 3)]),
    "cross": (L.cross, [(2, 3), (2, 3)]),
    "kron": (torch.kron, [(2, 3), (3, 2)]),
    "inner": (torch.inner, [(2, 3), (4, 3)]),
}  # fmt: skip


def _gauge_free(values: Any, vectors: Any) -> Any:
    """What does not depend on the signs (or phases) of eigenvectors."""
    return values, vectors @ (values.unsqueeze(-1) * vectors.mH), vectors * vectors.conj()


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name: str) -> None:
    function, shapes = CASES[name]
    check_both_orders(function, inputs_of(tuple(shapes)))


COMPLEX = (
    "inv",
    "solve",
    "cholesky",
    "lu_factor",
    "lu_solve",
    "matrix_exp",
    "pinv_tall",
    "pinv_wide",
    "lstsq_tall",
    "kron",
    "inner",
)


@pytest.mark.parametrize("name", COMPLEX)
def test_derivatives_of_complex_matrices(name: str) -> None:
    function, shapes = CASES[name]
    check_both_orders(function, inputs_of(tuple(shapes), torch.complex128))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_eigenvalues(dtype: Any) -> None:
    (a,) = inputs_of(((3, 3),), dtype)
    check_both_orders(lambda a: L.eigvals(a).abs(), (a,))
    check_both_orders(lambda a: L.eig(a)[1].abs(), (a,))


def test_a_phase_that_is_not_determined_is_refused() -> None:
    (a,) = inputs_of(((3, 3),), torch.complex128)
    with pytest.raises(RuntimeError, match="eigenvectors in the complex case"):
        L.eig(a)[1].imag.sum().backward()
