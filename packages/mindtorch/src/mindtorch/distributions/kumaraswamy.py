"""``torch.distributions.kumaraswamy``: the Kumaraswamy distribution."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core import Tensor

from ..types import _size
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


def _moments(a: Tensor, b: Tensor, n: int) -> Tensor:
    """The expectation of the nth power."""
    first = 1 + n / a
    return b * mt.exp(first.lgamma() + b.lgamma() - (first + b).lgamma())


class Kumaraswamy(TransformedDistribution):
    """Numbers from 0 to 1, like beta numbers, with a distribution function in closed form."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            mt.full_like(self.concentration0, 0), mt.full_like(self.concentration0, 1), validate_args=validate_args
        )
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: Any = None) -> Any:
        made = self._get_checked_instance(Kumaraswamy, _instance)
        made.concentration1 = self.concentration1.expand(batch_shape)
        made.concentration0 = self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, made)

    @property
    def mean(self) -> Tensor:
        return _moments(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Tensor:
        """NaN where a concentration is below 1."""
        log_mode = (
            self.concentration0.reciprocal() * (-self.concentration0).log1p()
            - (-self.concentration0 * self.concentration1).log1p()
        )
        log_mode[(self.concentration0 < 1) | (self.concentration1 < 1)] = float("nan")
        return log_mode.exp()

    @property
    def variance(self) -> Tensor:
        return _moments(self.concentration1, self.concentration0, 2) - mt.pow(self.mean, 2)

    def entropy(self) -> Tensor:
        harmonic = mt.digamma(self.concentration0 + 1) + euler_constant
        return (
            (1 - self.concentration0.reciprocal())
            + (1 - self.concentration1.reciprocal()) * harmonic
            - mt.log(self.concentration0)
            - mt.log(self.concentration1)
        )
