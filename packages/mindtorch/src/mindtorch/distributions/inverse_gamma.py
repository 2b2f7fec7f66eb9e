"""``torch.distributions.inverse_gamma``: the inverse gamma distribution."""

from __future__ import annotations

import math
from typing import Any

import mt_core as mt
from mt_core import Tensor

from ..types import _size
from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """Inverses of gamma numbers of the given concentration and rate."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: Any = None) -> Any:
        return self._expanded(batch_shape, _instance, InverseGamma)

    @property
    def concentration(self) -> Tensor:
        """The shape parameter."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the gamma numbers."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        """Infinite for concentrations up to 1."""
        return mt.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """Infinite for concentrations up to 2."""
        finite = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return mt.where(self.concentration > 2, finite, math.inf)

    def entropy(self) -> Tensor:
        return (
            self.concentration
            + self.rate.log()
            + self.concentration.lgamma()
            - (1 + self.concentration) * self.concentration.digamma()
        )
