"""``torch.distributions.multinomial``: the multinomial distribution."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core import Size, Tensor

from ..types import _size
from . import constraints
from ._odds import OfCategorical
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(OfCategorical, Distribution):
    """How often each category occurs in `total_count` draws; `probs` and `logits` as of `Categorical`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _parameters: dict[str, int] = {}
    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def _expand_rest(self, made: Any, batch_shape: Size) -> None:
        made.total_count = self.total_count
        made._categorical = self._categorical.expand(batch_shape)
        made._binomial = self._binomial.expand(batch_shape + self.event_shape)

    @property
    def mean(self) -> Tensor:
        """probs total_count."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        """Of each count: total_count probs (1 - probs)."""
        return self.total_count * self.probs * (1 - self.probs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        """Counts that sum to at most `total_count`."""
        return constraints.multinomial(self.total_count)

    def sample(self, sample_shape: _size = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count,)) + sample_shape).movedim(0, -1)
        counts = drawn.new_empty(self._extended_shape(sample_shape)).zero_()
        counts.scatter_add_(-1, drawn, mt.ones_like(drawn))
        return counts.type_as(self.probs)

    def entropy(self) -> Tensor:
        n = mt.tensor(self.total_count)
        of_draws = n * self._categorical.entropy() - mt.lgamma(n + 1)
        support = self._binomial.enumerate_support(expand=False)[1:]
        of_orders = mt.exp(self._binomial.log_prob(support)) * mt.lgamma(support + 1)
        return of_draws + of_orders.sum([0, -1])

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone(memory_format=mt.contiguous_format)
        log_orders = mt.lgamma(value.sum(-1) + 1) - mt.lgamma(value + 1).sum(-1)
        logits[(value == 0) & (logits == -float("inf"))] = 0
        return log_orders + (logits * value).sum(-1)
