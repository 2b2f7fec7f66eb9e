"""``torch.distributions.geometric``: the geometric distribution."""

from __future__ import annotations

from typing import Any

import mt_core as mt
import mt_nn.functional as F
from mt_core import Size, Tensor

from ..types import _Number, _size
from . import constraints
from ._odds import require_one
from .distribution import Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Geometric"]


class Geometric(Distribution):
    """How many trials of a probability fail before the first that succeeds; by `probs`, or by `logits`."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _parameters = {"probs": 0, "logits": 0}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        require_one(probs, logits)
        given = logits if probs is None else probs
        (value,) = broadcast_all(given)
        if probs is None:
            self.logits = value
        else:
            self.probs = value
        super().__init__(Size() if isinstance(given, _Number) else value.size(), validate_args=validate_args)
        if self._validate_args and probs is not None:
            valid = value > 0
            if not valid.all():
                raise ValueError(
                    f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to be positive but found invalid values:\n{value.data[~valid]}"
                )

    @property
    def mean(self) -> Tensor:
        """1 / probs - 1."""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        """0."""
        return mt.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        """(1 / probs - 1) / probs."""
        return (1.0 / self.probs - 1.0) / self.probs

    @lazy_property
    def logits(self) -> Tensor:
        """Logarithms of odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    def sample(self, sample_shape: _size = ()) -> Tensor:
        with mt.no_grad():
            u = self.probs.new_empty(self._extended_shape(sample_shape)).uniform_(mt.finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.clone(memory_format=mt.contiguous_format)
        probs[(probs == 1) & (value == 0)] = 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
