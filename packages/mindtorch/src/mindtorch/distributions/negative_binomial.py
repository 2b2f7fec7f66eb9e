"""``torch.distributions.negative_binomial``: the negative binomial distribution."""

from __future__ import annotations

from typing import Any

import mt_core as mt
import mt_nn.functional as F
from mt_core import Tensor

from ..types import _size
from . import constraints
from ._odds import BinaryOdds, require_one
from .distribution import Distribution
from .gamma import Gamma
from .utils import broadcast_all, lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(BinaryOdds, Distribution):
    """How many trials of a probability succeed before `total_count` fail; by `probs`, or by `logits`."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _parameters = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        require_one(probs, logits)
        self._by_probs = probs is not None
        if self._by_probs:
            self.total_count, self.probs = broadcast_all(total_count, probs)
        else:
            self.total_count, self.logits = broadcast_all(total_count, logits)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * mt.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / mt.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        """The distribution of the rate of which counts are Poisson numbers."""
        return Gamma(concentration=self.total_count, rate=mt.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: _size = ()) -> Tensor:
        with mt.no_grad():
            return mt.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        unnormalized = self.total_count * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)
        normalizer = -mt.lgamma(self.total_count + value) + mt.lgamma(1.0 + value) + mt.lgamma(self.total_count)
        normalizer = normalizer.masked_fill(self.total_count + value == 0.0, 0.0)
        return unnormalized - normalizer
