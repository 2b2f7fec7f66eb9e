"""``torch.distributions.wishart``: the Wishart distribution."""

from __future__ import annotations

import math
import warnings
from typing import Any

import mt_core as mt
from mt_core import Size, Tensor

from .. import linalg
from ..types import _Number, _size
from . import constraints
from ._matrices import half_log_determinant, precision_to_scale_tril
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .utils import lazy_property

__all__ = ["Wishart"]

_LOG_2 = math.log(2)


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of the logarithm of the multivariate gamma function."""
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    steps = mt.arange(p, dtype=x.dtype, device=x.device).div(2).expand(x.shape + (-1,))
    return mt.digamma(x.unsqueeze(-1) - steps).sum(-1)


class Wishart(ExponentialFamily):
    """Sums of products of vectors of normal numbers with themselves: symmetric positive-definite matrices.

    Parameters
    ----------
    df
        Degrees of freedom, above n - 1.
    covariance_matrix, precision_matrix, scale_tril : (*, n, n)
        One of them: the covariances of the vectors, their inverse, or their Cholesky factor.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = {"df": 0, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """`df` is above n - 1."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = {
            "scale_tril": scale_tril,
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
        }
        named = {name: matrix for name, matrix in given.items() if matrix is not None}
        if len(named) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = named.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, _Number):
            batch_shape = Size(matrix.shape[:-2])
            self.df = mt.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = mt.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        event_shape = matrix.shape[-2:]
        if self.df.le(event_shape[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}.")
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        if self.df.lt(event_shape[-1]).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        # Before the parameters are checked, which asks for the shape of an event.
        self._event_shape = event_shape
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._batch_dims = [-(x + 1) for x in range(len(self._batch_shape))]
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(matrix)
        self._dist_chi2 = self._chi2(self.df, batch_shape)

    def _chi2(self, df: Tensor, batch_shape: Size) -> Chi2:
        """The squares of the diagonal of a draw's factor."""
        steps = mt.arange(self._event_shape[-1], dtype=df.dtype, device=df.device)
        return Chi2(df=df.unsqueeze(-1) - steps.expand(batch_shape + (-1,)))

    def _expand_rest(self, made: Any, batch_shape: Size) -> None:
        made._event_shape = self._event_shape
        made._batch_dims = [-(x + 1) for x in range(len(batch_shape))]
        made._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(batch_shape + self.event_shape)
        made._dist_chi2 = made._chi2(made.df, batch_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariances."""
        return self._unbroadcasted_scale_tril.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariances of the vectors."""
        tril = self._unbroadcasted_scale_tril
        return (tril @ tril.transpose(-2, -1)).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariances."""
        identity = mt.eye(
            self._event_shape[-1],
            device=self._unbroadcasted_scale_tril.device,
            dtype=self._unbroadcasted_scale_tril.dtype,
        )
        inverse = mt.cholesky_solve(identity, self._unbroadcasted_scale_tril)
        return inverse.expand(self._batch_shape + self._event_shape)

    def _df_of_matrices(self) -> Tensor:
        return self.df.view(self._batch_shape + (1, 1))

    @property
    def mean(self) -> Tensor:
        """df times the covariances."""
        return self._df_of_matrices() * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """NaN for `df` up to n + 1."""
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor[factor <= 0] = float("nan")
        return factor.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        """Of each element."""
        covariances = self.covariance_matrix
        diagonal = covariances.diagonal(dim1=-2, dim2=-1)
        of_pairs = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._df_of_matrices() * (covariances.pow(2) + of_pairs)

    def _bartlett_sampling(self, sample_shape: _size = ()) -> Tensor:
        """Draws by Bartlett's decomposition: chi on the diagonal, normal numbers below it."""
        p = self._event_shape[-1]
        noise = self._dist_chi2.rsample(sample_shape).sqrt().diag_embed(dim1=-2, dim2=-1)
        i, j = mt.tril_indices(p, p, offset=-1)
        noise[..., i, j] = mt.randn(
            Size(sample_shape) + self._batch_shape + (p * (p - 1) // 2,), dtype=noise.dtype, device=noise.device
        )
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.transpose(-2, -1)

    def rsample(self, sample_shape: _size = (), max_try_correction: int | None = None) -> Tensor:
        """Draws; those that rounding has made singular are drawn anew, up to `max_try_correction` (10) times.

        PyTorch draws those that are *not* singular anew, once. That is done here too, so that the numbers are the
        same; its warning comes only where a draw is singular.
        """
        sample_shape = mt.Size(sample_shape)
        tries = 10 if max_try_correction is None else max_try_correction
        sample = self._bartlett_sampling(sample_shape)
        singular = self._is_singular(sample)
        anew = ~singular
        if self._batch_shape:
            anew = self.support.check(sample).amax(self._batch_dims)
        for _ in range(tries):
            if not anew.any():
                break
            sample[anew] = self._bartlett_sampling(anew[anew].shape)
            singular = self._is_singular(sample)
            anew = singular
        if singular.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
        return sample

    def _is_singular(self, sample: Tensor) -> Tensor:
        """Which draws, of the whole batch, have a matrix that is not in the support."""
        singular = ~self.support.check(sample)
        return singular.amax(self._batch_dims) if self._batch_shape else singular

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        tril = self._unbroadcasted_scale_tril
        return (
            -nu * (p * _LOG_2 / 2 + half_log_determinant(tril))
            - mt.mvlgamma(nu / 2, p=p)
            + (nu - p - 1) / 2 * linalg.slogdet(value).logabsdet
            - mt.cholesky_solve(value, tril).diagonal(dim1=-2, dim2=-1).sum(dim=-1) / 2
        )

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        return (
            (p + 1) * (p * _LOG_2 / 2 + half_log_determinant(self._unbroadcasted_scale_tril))
            + mt.mvlgamma(nu / 2, p=p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p=p)
            + nu * p / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        p = self._event_shape[-1]
        return (y + (p + 1) / 2) * (-linalg.slogdet(-2 * x).logabsdet + _LOG_2 * p) + mt.mvlgamma(y + (p + 1) / 2, p=p)
