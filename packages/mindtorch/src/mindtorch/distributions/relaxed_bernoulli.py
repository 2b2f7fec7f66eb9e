"""``torch.distributions.relaxed_bernoulli``: continuous relaxations of the Bernoulli distribution."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core import Size, Tensor

from ..types import _Number, _size
from . import constraints
from ._odds import BinaryOdds, require_one
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(BinaryOdds, Distribution):
    """The logarithms of the odds of `RelaxedBernoulli`.

    C. J. Maddison, A. Mnih and Y. W. Teh, "The concrete distribution" (2017).
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _parameters = {"probs": 0, "logits": 0}

    def __init__(
        self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        require_one(probs, logits)
        self._by_probs = probs is not None
        given = probs if self._by_probs else logits
        (value,) = broadcast_all(given)
        if self._by_probs:
            self.probs = value
        else:
            self.logits = value
        super().__init__(Size() if isinstance(given, _Number) else value.size(), validate_args=validate_args)

    def _expand_rest(self, made: Any, batch_shape: Size) -> None:
        super()._expand_rest(made, batch_shape)
        made.temperature = self.temperature

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        uniforms = clamp_probs(mt.rand(shape, dtype=probs.dtype, device=probs.device))
        return (uniforms.log() - (-uniforms).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        off = logits - value.mul(self.temperature)
        return self.temperature.log() + off - 2 * off.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers from 0 to 1 that come near to the ends as `temperature` falls, with gradients by the probability."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: Any = None) -> Any:
        return self._expanded(batch_shape, _instance, RelaxedBernoulli)

    @property
    def temperature(self) -> Tensor:
        """How far from the ends draws are."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """Logarithms of odds."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """Probabilities."""
        return self.base_dist.probs
