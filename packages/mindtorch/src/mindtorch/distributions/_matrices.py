"""Batches of triangular and low-rank matrices, as multivariate normal distributions need them."""

from __future__ import annotations

import mt_core as mt
from mt_core import Tensor

from .. import linalg

__all__ = [
    "capacitance_tril",
    "half_log_determinant",
    "low_rank_log_determinant",
    "low_rank_mahalanobis",
    "mahalanobis",
    "matrix_vector",
    "one_more_on_diagonal",
    "precision_to_scale_tril",
    "trace_of_product",
]


def matrix_vector(matrix: Tensor, vector: Tensor) -> Tensor:
    """matrix (*, m, n), vector (*, n), broadcast -> (*, m)."""
    return mt.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def mahalanobis(tril: Tensor, x: Tensor) -> Tensor:
    """Squared lengths of ``tril ** -1 @ x``: tril (*, n, n), x (*, n), broadcast -> (*).

    Vectors that share a matrix are solved for together, as columns.
    """
    batch_dims = tril.dim() - 2
    of_samples = x.dim() - 1 - batch_dims
    if of_samples > 0 and x.shape[of_samples:-1] == tril.shape[:-2]:
        columns = x.reshape(-1, *x.shape[of_samples:]).movedim(0, -1)
        lengths = linalg.solve_triangular(tril, columns, upper=False).pow(2).sum(-2)
        return lengths.movedim(-1, 0).reshape(x.shape[:-1])
    return linalg.solve_triangular(tril, x.unsqueeze(-1), upper=False).pow(2).sum((-2, -1))


def half_log_determinant(tril: Tensor) -> Tensor:
    """The logarithm of the determinant of triangular matrices: (*, n, n) -> (*)."""
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse, of a factor of the matrix itself turned round: (*, n, n) -> (*, n, n)."""
    turned = linalg.cholesky(mt.flip(precision, (-2, -1)))
    inverse = mt.transpose(mt.flip(turned, (-2, -1)), -2, -1)
    identity = mt.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return linalg.solve_triangular(inverse, identity, upper=False)


def trace_of_product(matrix: Tensor) -> Tensor:
    """The trace of ``matrix @ matrix.mT``: (*, m, n) -> (*)."""
    return matrix.pow(2).sum((-2, -1))


def one_more_on_diagonal(matrix: Tensor) -> Tensor:
    """Square matrices with 1 added to their diagonals, in place: (*, n, n) -> (*, n, n)."""
    n = matrix.shape[-1]
    matrix = matrix.contiguous()
    matrix.view(-1, n * n)[:, :: n + 1] += 1
    return matrix


def capacitance_tril(factor: Tensor, diag: Tensor) -> Tensor:
    """The Cholesky factor of ``1 + factor.mT @ diag ** -1 @ factor``: (*, n, m), (*, n) -> (*, m, m)."""
    scaled = factor.mT / diag.unsqueeze(-2)
    return linalg.cholesky(one_more_on_diagonal(mt.matmul(scaled, factor)))


def low_rank_log_determinant(factor: Tensor, diag: Tensor, capacitance: Tensor) -> Tensor:
    """Of ``factor @ factor.mT + diag``, by the matrix determinant lemma."""
    return 2 * half_log_determinant(capacitance) + diag.log().sum(-1)


def low_rank_mahalanobis(factor: Tensor, diag: Tensor, x: Tensor, capacitance: Tensor) -> Tensor:
    """``x @ (factor @ factor.mT + diag) ** -1 @ x``, by Woodbury's formula."""
    scaled = matrix_vector(factor.mT / diag.unsqueeze(-2), x)
    return (x.pow(2) / diag).sum(-1) - mahalanobis(capacitance, scaled)
