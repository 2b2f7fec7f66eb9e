"""``torch.distributions.relaxed_categorical``: continuous relaxations of distributions over categories."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core import Size, Tensor

from ..types import _size
from . import constraints
from ._odds import OfCategorical
from .categorical import Categorical
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OfCategorical, Distribution):
    """The logarithms of `RelaxedOneHotCategorical`.

    C. J. Maddison, A. Mnih and Y. W. Teh, "The concrete distribution" (2017).
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    # Vectors whose exponentials are points of the simplex; there is no constraint of them.
    support = constraints.real_vector
    has_rsample = True
    _parameters: dict[str, int] = {}

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def _expand_rest(self, made: Any, batch_shape: Size) -> None:
        made.temperature = self.temperature
        made._categorical = self._categorical.expand(batch_shape)

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        uniforms = clamp_probs(mt.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        gumbels = -((-(uniforms.log())).log())
        scores = (self.logits + gumbels) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        k = self._categorical._num_events
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        log_scale = mt.full_like(self.temperature, float(k)).lgamma() - self.temperature.log().mul(-(k - 1))
        score = logits - value.mul(self.temperature)
        score = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return score + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of the simplex that come near to its corners as `temperature` falls, with gradients by the shares."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: Any = None) -> Any:
        return self._expanded(batch_shape, _instance, RelaxedOneHotCategorical)

    @property
    def temperature(self) -> Tensor:
        """How far from the corners draws are."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """Logarithms of the shares."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """Shares of the categories."""
        return self.base_dist.probs
