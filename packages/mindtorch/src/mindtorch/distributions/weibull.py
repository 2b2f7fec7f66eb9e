"""``torch.distributions.weibull``: the Weibull distribution."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core import Tensor

from ..types import _size
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """Powers 1 / concentration of exponential numbers, times `scale`."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(mt.ones_like(self.scale), validate_args=validate_args)
        transforms = [
            PowerTransform(exponent=self.concentration_reciprocal),
            AffineTransform(loc=0, scale=self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: Any = None) -> Any:
        made = self._get_checked_instance(Weibull, _instance)
        made.scale, made.concentration = self.scale.expand(batch_shape), self.concentration.expand(batch_shape)
        made.concentration_reciprocal = made.concentration.reciprocal()
        base = self.base_dist.expand(batch_shape)
        transforms = [
            PowerTransform(exponent=made.concentration_reciprocal),
            AffineTransform(loc=0, scale=made.scale),
        ]
        TransformedDistribution.__init__(made, base, transforms, validate_args=False)
        made._validate_args = self._validate_args
        return made

    @property
    def mean(self) -> Tensor:
        return self.scale * mt.exp(mt.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (
            mt.exp(mt.lgamma(1 + 2 * self.concentration_reciprocal))
            - mt.exp(2 * mt.lgamma(1 + self.concentration_reciprocal))
        )

    def entropy(self) -> Tensor:
        return (
            euler_constant * (1 - self.concentration_reciprocal)
            + mt.log(self.scale * self.concentration_reciprocal)
            + 1
        )
