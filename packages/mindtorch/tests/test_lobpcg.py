"""`torch.lobpcg`: the eigenpairs that `eigh` finds, their gradients, and what trackers see."""

from __future__ import annotations

import importlib

import pytest

import mindtorch as torch

METHODS = ("basic", "ortho")


def symmetric(*shape: int, seed: int = 0) -> torch.Tensor:
    """Positive definite matrices (*shape, shape[-1]) of float64 whose eigenvalues lie well apart."""
    generator = torch.Generator().manual_seed(seed)
    m = shape[-1]
    axes = torch.linalg.qr(torch.randn(*shape, m, dtype=torch.float64, generator=generator))[0]
    return axes @ torch.diag(torch.arange(1.0, m + 1, dtype=torch.float64) ** 2) @ axes.mT


def wanted(A: torch.Tensor, k: int, largest: bool) -> torch.Tensor:
    values = torch.linalg.eigvalsh(A)
    return values.flip(-1)[..., :k] if largest else values[..., :k]


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(12,), (2, 9), (2, 2, 9)])
def test_pairs_are_those_of_eigh(shape: tuple[int, ...], method: str, largest: bool) -> None:
    torch.manual_seed(0)
    A = symmetric(*shape)
    values, vectors = torch.lobpcg(A, k=3, method=method, largest=largest, niter=-1)
    torch.testing.assert_close(values, wanted(A, 3, largest), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(A @ vectors, vectors * values.unsqueeze(-2), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_generalized_vectors_are_orthonormal_to_b(method: str) -> None:
    torch.manual_seed(0)
    A, B = symmetric(12), torch.eye(12, dtype=torch.float64) + 0.1 * symmetric(12, seed=1) / 144
    values, vectors = torch.lobpcg(A, k=2, B=B, method=method)
    root = torch.linalg.inv(torch.linalg.cholesky(B))
    torch.testing.assert_close(values, wanted(root @ A @ root.mT, 2, True), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(vectors.mT @ B @ vectors, torch.eye(2, dtype=torch.float64), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_preconditioner_saves_steps(method: str) -> None:
    A, X = symmetric(30), torch.eye(30, 2, dtype=torch.float64)
    steps: dict[bool, int] = {}
    for preconditioned in (False, True):
        iK = torch.linalg.inv(A) if preconditioned else None

        def count(worker: torch._lobpcg.LOBPCG, key: bool = preconditioned) -> None:
            steps[key] = worker.ivars["istep"]

        torch.lobpcg(A, X=X, iK=iK, largest=False, method=method, tracker=count)
    assert steps[True] < steps[False]


def test_a_tracker_sees_the_state_and_stops_it() -> None:
    seen = []

    def track(worker: torch._lobpcg.LOBPCG) -> None:
        seen.append((worker.ivars["istep"], tuple(worker.X.shape), tuple(worker.tvars["rerr"].shape)))
        residual = worker.A @ worker.X - worker.X * worker.E
        torch.testing.assert_close(worker.R, residual)
        if len(seen) == 2:
            worker.bvars["force_stop"] = True

    torch.lobpcg(symmetric(12), X=torch.ones(12, 1, dtype=torch.float64) + torch.eye(12, 1), tracker=track, tol=0.0)
    assert seen == [(1, (12, 1), (1,)), (2, (12, 1), (1,))]


def test_so_many_steps_are_made_at_most() -> None:
    steps: list[int] = []
    torch.manual_seed(0)
    torch.lobpcg(symmetric(12), niter=3, tol=0.0, tracker=lambda worker: steps.append(worker.ivars["istep"]))
    assert steps == [1, 2, 3]


def signed(A: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Pairs from a fixed guess, the largest element of each vector positive."""
    values, vectors = torch.lobpcg(A, X=torch.eye(A.shape[-1], 2, dtype=A.dtype).expand(*A.shape[:-1], 2), tol=1e-12)
    return values, vectors * vectors.gather(-2, vectors.abs().argmax(-2, keepdim=True)).sign()


@pytest.mark.parametrize("shape", [(6,), (2, 6)])
def test_gradients_are_those_of_symmetric_matrices(shape: tuple[int, ...]) -> None:
    A = symmetric(*shape).requires_grad_()
    assert torch.autograd.gradcheck(signed, (A,))
    if len(shape) == 1:
        assert torch.autograd.gradgradcheck(signed, (A,), atol=1e-4)
    values, vectors = signed(A)
    (values.sum() + vectors.sum()).backward()
    torch.testing.assert_close(A.grad, A.grad.mT)


def test_there_is_no_gradient_of_generalized_problems() -> None:
    values, _ = torch.lobpcg(symmetric(6).requires_grad_(), B=torch.eye(6, dtype=torch.float64))
    with pytest.raises(ValueError, match="does not support backward with B != I"):
        values.sum().backward()


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"A": torch.ones(2, 3)}, AssertionError, "A must be square"),
        ({"A": torch.eye(2)}, ValueError, "smaller than 3 x the number of requested eigenpairs"),
        ({"A": torch.eye(9), "B": torch.eye(8)}, AssertionError, "A and B must have same shape"),
        ({"A": torch.eye(9), "X": torch.ones(8, 1)}, AssertionError, "X shape mismatch"),
        ({"A": torch.eye(9, dtype=torch.complex64)}, RuntimeError, "float32 or float64"),
        ({"A": torch.eye(9), "method": "other"}, ValueError, "unknown method 'other'"),
    ],
)
def test_what_is_refused(arguments: dict[str, object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        torch.lobpcg(**arguments)


def test_it_stands_where_pytorch_has_it() -> None:
    assert importlib.import_module("mindtorch._lobpcg").lobpcg is torch.lobpcg


@pytest.mark.parametrize("method", ["ortho", "basic"])
@pytest.mark.parametrize("strange", [float("nan"), float("inf")])
def test_a_matrix_that_is_not_finite_is_refused_at_once(method, strange):
    matrix = torch.eye(4, dtype=torch.float64)
    matrix[1, 1] = strange
    with pytest.raises(torch.linalg.LinAlgError, match="failed to converge"):
        torch.lobpcg(matrix, k=1, method=method)
