"""``torch.distributions.bernoulli``: the Bernoulli distribution."""

from __future__ import annotations

from typing import Any

import mt_core as mt
import mt_nn.functional as F
from mt_core import Size, Tensor

from ..types import _Number, _size
from . import constraints
from ._odds import BinaryOdds, require_one
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Bernoulli"]


class Bernoulli(BinaryOdds, ExponentialFamily):
    """1 with a probability, else 0; by `probs`, or by `logits`, the logarithm of the odds."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _parameters = {"probs": 0, "logits": 0}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        require_one(probs, logits)
        self._by_probs = probs is not None
        given = probs if self._by_probs else logits
        (value,) = broadcast_all(given)
        if self._by_probs:
            self.probs = value
        else:
            self.logits = value
        super().__init__(Size() if isinstance(given, _Number) else value.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """`probs`."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The more probable value; NaN where both are equally probable."""
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = float("nan")
        return mode

    @property
    def variance(self) -> Tensor:
        """probs (1 - probs)."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: _size = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with mt.no_grad():
            return mt.bernoulli(self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = mt.arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (mt.logit(self.probs),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return mt.log(1 + mt.exp(x))
