"""``torch.distributions.binomial``: the binomial distribution."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core import Tensor

from ..types import _size
from . import constraints
from ._odds import BinaryOdds, require_one
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Binomial"]


def _clamp_by_zero(x: Tensor) -> Tensor:
    """Like ``clamp(min=0)``, with the gradient 1/2 at 0."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(BinaryOdds, Distribution):
    """How many of `total_count` trials of a probability succeed; by `probs`, or by `logits`."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _parameters = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        require_one(probs, logits)
        self._by_probs = probs is not None
        if self._by_probs:
            self.total_count, self.probs = broadcast_all(total_count, probs)
        else:
            self.total_count, self.logits = broadcast_all(total_count, logits)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        """Whole numbers from 0 to `total_count`."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        """total_count probs."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        """total_count probs (1 - probs)."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: _size = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with mt.no_grad():
            return mt.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        log_of_all = mt.lgamma(self.total_count + 1)
        log_of_successes = mt.lgamma(value + 1)
        log_of_failures = mt.lgamma(self.total_count - value + 1)
        # log(1 + exp(logits)) total_count, where neither end overflows
        normalizer = (
            self.total_count * _clamp_by_zero(self.logits)
            + self.total_count * mt.log1p(mt.exp(-mt.abs(self.logits)))
            - log_of_all
        )
        return value * self.logits - log_of_successes - log_of_failures - normalizer

    def _one_total_count(self, use: str) -> int:
        total_count = int(self.total_count.max())
        if not self.total_count.min() == total_count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{use}`.")
        return total_count

    def entropy(self) -> Tensor:
        self._one_total_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(mt.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        total_count = self._one_total_count("enumerate_support")
        values = mt.arange(1 + total_count, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values
