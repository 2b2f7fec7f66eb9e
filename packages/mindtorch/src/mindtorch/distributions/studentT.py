"""``torch.distributions.studentT``: Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

import mt_core as mt
from mt_core import Size, Tensor

from ..types import _size
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import broadcast_all, standard_normal

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Normal numbers over the root mean square of `df` others, scaled and moved."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parameters = {"df": 0, "loc": 0, "scale": 0}

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def _expand_rest(self, made: Any, batch_shape: Size) -> None:
        made._chi2 = self._chi2.expand(batch_shape)

    @property
    def mean(self) -> Tensor:
        """`loc`; NaN for `df` up to 1."""
        mean = self.loc.clone(memory_format=mt.contiguous_format)
        mean[self.df <= 1] = float("nan")
        return mean

    @property
    def mode(self) -> Tensor:
        """`loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """scale squared df / (df - 2); infinite for `df` up to 2, NaN up to 1."""
        variance = self.df.clone(memory_format=mt.contiguous_format)
        finite = self.df > 2
        variance[finite] = self.scale[finite].pow(2) * self.df[finite] / (self.df[finite] - 2)
        variance[(self.df <= 2) & (self.df > 1)] = math.inf
        variance[self.df <= 1] = float("nan")
        return variance

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        above = standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        below = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (above * mt.rsqrt(below / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + mt.lgamma(0.5 * self.df)
            - mt.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * mt.log1p(y**2.0 / self.df) - normalizer

    def entropy(self) -> Tensor:
        half, next_half = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = mt.lgamma(half) + math.lgamma(0.5) - mt.lgamma(next_half)
        return (
            self.scale.log()
            + 0.5 * (self.df + 1) * (mt.digamma(next_half) - mt.digamma(half))
            + 0.5 * self.df.log()
            + log_beta
        )
