"""``torch.distributions.lowrank_multivariate_normal``: multivariate normal distributions of covariances of low rank."""

from __future__ import annotations

import math
from typing import Any

import mt_core as mt
from mt_core import Size, Tensor

from .. import linalg
from ..types import _size
from . import constraints
from ._matrices import (
    capacitance_tril,
    low_rank_log_determinant,
    low_rank_mahalanobis,
    matrix_vector,
    one_more_on_diagonal,
)
from .distribution import Distribution
from .utils import lazy_property, standard_normal

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    """Vectors of normal numbers with the covariances ``cov_factor @ cov_factor.mT + diag(cov_diag)``.

    Parameters
    ----------
    loc : (*, n)
        Mean.
    cov_factor : (*, n, m)
        A matrix of few columns.
    cov_diag : (*, n)
        Positive numbers.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _parameters = {"loc": 1, "cov_factor": 2, "cov_diag": 1}

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            columns = mt.broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_factor, self.cov_diag = columns[0][..., 0], columns[1], columns[2][..., 0]
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = capacitance_tril(cov_factor, cov_diag)

    def _expand_rest(self, made: Any, batch_shape: Size) -> None:
        made._unbroadcasted_cov_factor = self._unbroadcasted_cov_factor
        made._unbroadcasted_cov_diag = self._unbroadcasted_cov_diag
        made._capacitance_tril = self._capacitance_tril

    def _square_shape(self) -> Size:
        return self._batch_shape + self._event_shape + self._event_shape

    @property
    def mean(self) -> Tensor:
        """`loc`."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """`loc`."""
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        """The diagonal of the covariances."""
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariances."""
        # Of a matrix with 1 added to its diagonal, so that nothing is lost: the root of cov_diag is taken out first.
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        tril = root * linalg.cholesky(one_more_on_diagonal(mt.matmul(scaled, scaled.mT)))
        return tril.expand(self._square_shape())

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariances."""
        product = mt.matmul(self._unbroadcasted_cov_factor, self._unbroadcasted_cov_factor.mT)
        return (product + mt.diag_embed(self._unbroadcasted_cov_diag)).expand(self._square_shape())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariances, by Woodbury's formula."""
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        a = linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        precision = mt.diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - a.mT @ a
        return precision.expand(self._square_shape())

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        of_factor = shape[:-1] + self.cov_factor.shape[-1:]
        eps_factor = standard_normal(of_factor, dtype=self.loc.dtype, device=self.loc.device)
        eps_diag = standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return (
            self.loc
            + matrix_vector(self._unbroadcasted_cov_factor, eps_factor)
            + self._unbroadcasted_cov_diag.sqrt() * eps_diag
        )

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        factor, diag = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        lengths = low_rank_mahalanobis(factor, diag, value - self.loc, self._capacitance_tril)
        log_det = low_rank_log_determinant(factor, diag, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + lengths)

    def entropy(self) -> Tensor:
        log_det = low_rank_log_determinant(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        )
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return entropy if len(self._batch_shape) == 0 else entropy.expand(self._batch_shape)
