"""What factorizations must satisfy, whatever numbers a LAPACK would give."""

from __future__ import annotations

from typing import Any

import pytest

from mt_core.testing.namespace import namespace

torch = namespace()

L = torch.linalg
DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]
SHAPES = [(3, 3), (5, 3), (3, 5), (2, 0, 3), (0, 3, 3), (2, 1, 40, 40)]


def _random(shape: tuple[int, ...], dtype: Any) -> Any:
    torch.manual_seed(sum(shape))
    return torch.randn(shape, dtype=dtype)


def _close(a: Any, b: Any) -> bool:
    single = a.dtype in (torch.float32, torch.complex64)
    return torch.allclose(a, b, rtol=1e-3 if single else 1e-9, atol=1e-3 if single else 1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_factors_multiply_to_the_matrix(shape: tuple[int, ...], dtype: Any) -> None:
    A = _random(shape, dtype)
    P, lower, upper = L.lu(A)
    assert _close(P @ lower @ upper, A)
    assert torch.equal(lower, lower.tril()) and torch.equal(upper, upper.triu())
    Q, R = L.qr(A)
    assert _close(Q @ R, A)
    U, S, Vh = L.svd(A, full_matrices=False)
    assert _close(U @ (S.unsqueeze(-1) * Vh), A)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pivots_keep_factors_small(dtype: Any) -> None:
    LU, _ = L.lu_factor(_random((40, 40), dtype))
    # Pivots are chosen by |re| + |im|, which is up to sqrt(2) times the absolute value.
    assert float(LU.tril(-1).abs().max()) <= (1.4143 if dtype.is_complex else 1)


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 2, 7, 20])
def test_indefinite_systems(n: int, dtype: Any, hermitian: bool) -> None:
    A = _random((2, n, n), dtype)
    A = A + (A.mH if hermitian else A.mT)
    B = _random((2, n, 3), dtype)
    LD, pivots = L.ldl_factor(A, hermitian=hermitian)
    assert _close(A @ L.ldl_solve(LD, pivots, B, hermitian=hermitian), B)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("adjoint", [False, True])
def test_solving_with_factors(dtype: Any, left: bool, adjoint: bool) -> None:
    A, B = _random((2, 4, 4), dtype), _random((2, 4, 4), dtype)
    X = L.lu_solve(*L.lu_factor(A), B, left=left, adjoint=adjoint)
    M = A.mH if adjoint else A
    assert _close(M @ X if left else X @ M, B)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_pseudo_inverse(shape: tuple[int, ...], dtype: Any) -> None:
    A = _random(shape, dtype)
    P = L.pinv(A)
    assert _close(A @ P @ A, A) and _close(P @ A @ P, P)
    assert _close((A @ P).mH, A @ P) and _close((P @ A).mH, P @ A)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_least_squares_leave_a_rest_orthogonal_to_the_columns(driver: str) -> None:
    A, B = _random((2, 6, 3), torch.float64), _random((2, 6, 2), torch.float64)
    X = L.lstsq(A, B, driver=driver).solution
    assert _close(A.mT @ (A @ X - B), torch.zeros(2, 3, 2, dtype=torch.float64))


def test_rank_deficient_least_squares_have_least_norm() -> None:
    A = torch.ones(4, 3, dtype=torch.float64)
    result = L.lstsq(A, torch.ones(4, 1, dtype=torch.float64), driver="gelsd")
    assert _close(result.solution, torch.full((3, 1), 1 / 3, dtype=torch.float64))
    assert int(result.rank) == 1 and result.residuals.numel() == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvectors(dtype: Any) -> None:
    A = _random((2, 5, 5), dtype)
    values, vectors = L.eig(A)
    assert _close(A.to(values.dtype) @ vectors, vectors * values.unsqueeze(-2))
    H = A + A.mH
    values, vectors = L.eigh(H)
    assert _close(H @ vectors, vectors * values.unsqueeze(-2))


@pytest.mark.parametrize("scale", [1e-6, 0.1, 1.0, 20.0])
def test_the_exponential_of_a_sum_of_commuting_matrices(scale: float) -> None:
    A = _random((3, 3), torch.float64) * scale / 3
    whole, half = L.matrix_exp(A), L.matrix_exp(A / 2)
    assert torch.allclose(whole, half @ half, rtol=1e-8)
    if scale <= 1:
        assert torch.allclose(L.det(whole), torch.exp(A.trace()), rtol=1e-7)


@pytest.mark.parametrize("size", [0.01, 1.0, 3.0, 5.3, 40.0, 300.0])
def test_the_exponential_of_a_diagonal_matrix_is_that_of_its_elements(size: float) -> None:
    # Every coefficient of the approximant tells at a norm of 5, the largest that is not halved.
    elements = torch.tensor([size, size / 2, 0.0, -size], dtype=torch.float64)
    found = L.matrix_exp(torch.diag(elements))
    assert torch.allclose(found.diagonal(), elements.exp(), rtol=1e-13 * (1 + size), atol=0)


def test_householder_products_are_what_geqrf_means() -> None:
    A = _random((5, 3), torch.complex128)
    packed, tau = torch.geqrf(A)
    Q = L.householder_product(packed, tau)
    assert _close(Q @ packed[:3].triu(), A)
    C = _random((5, 2), torch.complex128)
    whole = torch.ormqr(packed, tau, torch.eye(5, dtype=torch.complex128))
    assert _close(torch.ormqr(packed, tau, C, transpose=True), whole.mH @ C)


def test_a_singular_matrix_is_refused_by_name() -> None:
    batch = torch.stack([torch.eye(3), torch.zeros(3, 3)])
    with pytest.raises(
        torch.linalg.LinAlgError, match=r"linalg.inv: \(Batch element 1\): The diagonal element 1 is zero"
    ):
        L.inv(batch)
    with pytest.raises(RuntimeError, match=r"lu_factor: \(Batch element 1\): U\[1,1\] is zero"):
        L.lu_factor(batch)
    assert L.lu_factor_ex(batch).info.tolist() == [0, 1]


INF, NAN = float("inf"), float("nan")
#: Where LAPACK's own loops never end, or read beyond their arrays.
INFINITE = [
    [[INF, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [[1.0, 0.0, 0.0], [0.0, 1.0, INF], [0.0, INF, 1.0]],
    [[1.0, 0.0, 0.0], [0.0, -INF, 0.0], [0.0, 0.0, 1.0]],
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", INFINITE)
def test_matrices_with_infinities_have_no_spectrum(rows: list[list[float]], dtype: Any) -> None:
    A = torch.stack([torch.eye(3), torch.tensor(rows)]).to(dtype)
    for values in (L.svdvals(A), L.svd(A).S, L.eigvalsh(A), L.eigh(A).eigenvalues, L.eigvals(A)):
        assert values.isnan().all(-1).tolist() == [False, True]
    assert L.matrix_rank(A).tolist() == L.matrix_rank(A, hermitian=True).tolist() == [3, 0]
    diagonal = all(not x for i, row in enumerate(rows) for j, x in enumerate(row) if i != j)
    for inverse in (L.pinv(A)[1], L.pinv(A, hermitian=True)[1]):
        assert not inverse.any() if diagonal else inverse.isnan().all()
    for norm in (L.cond(A), L.cond(A, -2), L.cond(A, "nuc"), L.matrix_norm(A, 2), L.matrix_norm(A, "nuc")):
        assert norm.isnan().tolist() == [False, True]
    with pytest.raises(RuntimeError, match="should not contain infs or NaNs"):
        L.eig(A)


def test_unread_triangles_may_hold_anything() -> None:
    A = torch.tensor([[2.0, NAN], [0.0, 1.0]])
    assert L.eigvalsh(A).tolist() == [1.0, 2.0] and L.eigvalsh(A, "U").isnan().all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_singular_values_of_nan_are_refused(dtype: Any) -> None:
    words = "The algorithm failed to converge because the input matrix contained non-finite values."
    one = torch.tensor([[1.0, 0.0], [NAN, 1.0]]).to(dtype)
    for function in (L.svd, L.svdvals, L.pinv, L.matrix_rank, L.cond, lambda A: L.matrix_norm(A, "nuc")):
        with pytest.raises(L.LinAlgError, match=f"linalg.svd: {words}"):
            function(one)
        with pytest.raises(L.LinAlgError, match=rf"linalg.svd: \(Batch element 1\): {words}"):
            function(torch.stack([torch.eye(2, dtype=dtype), one, one]))


def test_least_squares_of_infinities() -> None:
    A, B = torch.tensor(INFINITE[0]), torch.ones(3, 1)
    assert L.lstsq(A, B).rank == 1 and L.lstsq(A, B).solution.isnan().tolist() == [[True], [False], [False]]
    other = L.lstsq(torch.tensor(INFINITE[2]), B)
    assert other.rank == 0 and not other.solution.any()
    assert L.lstsq(A, B, driver="gelss").singular_values.isnan().all()
    for driver, words in (("gels", r"does not have full rank \(error code: 2\)"), ("gelsd", "contains infinities")):
        with pytest.raises(L.LinAlgError, match=words):
            L.lstsq(A, B, driver=driver)
    with pytest.raises(L.LinAlgError, match=r"\(Batch element 1\): .* contains NaN"):
        L.lstsq(torch.stack([torch.eye(2), torch.full((2, 2), NAN)]), torch.ones(2, 2, 1))


def test_no_factor_of_nan_is_definite() -> None:
    A = torch.eye(3)
    A[1, 1] = NAN
    assert L.cholesky_ex(torch.stack([torch.eye(3), A])).info.tolist() == [0, 2]
    with pytest.raises(L.LinAlgError, match="leading minor of order 2 is not positive-definite"):
        L.cholesky(A)
    assert L.ldl_factor_ex(A).info == 2


def test_no_inverse_means_an_infinite_condition() -> None:
    for p in (1, -1, INF, -INF, "fro"):
        assert L.cond(torch.zeros(2, 2), p) == INF
        assert L.cond(torch.tensor([[1.0, 2.0], [2.0, 4.0]]), p) == INF
