"""``torch.distributions.one_hot_categorical``: distributions over categories, as vectors."""

from __future__ import annotations

from typing import Any

import mt_core as mt
import mt_nn.functional as F
from mt_core import Size, Tensor

from ..types import _size
from . import constraints
from ._odds import OfCategorical
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OfCategorical, Distribution):
    """Categories as vectors with a 1; `probs` and `logits` as of `Categorical`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _parameters: dict[str, int] = {}

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def _expand_rest(self, made: Any, batch_shape: Size) -> None:
        made._categorical = self._categorical.expand(batch_shape)

    @property
    def mean(self) -> Tensor:
        """`probs`."""
        return self._categorical.probs

    @property
    def mode(self) -> Tensor:
        """The category of the greatest share."""
        probs = self._categorical.probs
        return F.one_hot(probs.argmax(dim=-1), num_classes=probs.shape[-1]).to(probs)

    @property
    def variance(self) -> Tensor:
        """Of each element: probs (1 - probs)."""
        return self._categorical.probs * (1 - self._categorical.probs)

    def sample(self, sample_shape: _size = ()) -> Tensor:
        probs = self._categorical.probs
        indices = self._categorical.sample(Size(sample_shape))
        return F.one_hot(indices, self._categorical._num_events).to(probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self.event_shape[0]
        values = mt.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """As `OneHotCategorical`; draws of `rsample` have the gradients of `probs`.

    Y. Bengio, N. Léonard and A. Courville, "Estimating or propagating gradients through stochastic neurons" (2013).
    """

    has_rsample = True

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        samples = self.sample(sample_shape)
        probs = self._categorical.probs
        return samples + (probs - probs.detach())
