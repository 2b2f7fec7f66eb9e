"""``torch.distributions.generalized_pareto``: the generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

import mt_core as mt
from mt_core import Size, Tensor

from ..types import _Number, _size
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Excesses over a threshold.

    Parameters
    ----------
    loc
        Threshold.
    scale
        Scale.
    concentration
        Above 0, powers; at 0, exponential numbers; below, bounded ones.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _parameters = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        numbers = all(isinstance(value, _Number) for value in (loc, scale, concentration))
        super().__init__(Size() if numbers else self.loc.size(), validate_args=validate_args)

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(mt.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _is_exponential(self) -> Tensor:
        return mt.isclose(self.concentration, mt.tensor(0.0, dtype=self.loc.dtype, device=self.loc.device))

    def _nonzero_concentration(self, is_exponential: Tensor) -> Tensor:
        return mt.where(is_exponential, mt.ones_like(self.concentration), self.concentration)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        is_exponential = self._is_exponential()
        c = self._nonzero_concentration(is_exponential)
        return -mt.log(self.scale) - mt.where(is_exponential, z, (1 + 1 / c) * mt.log1p(c * z))

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of draws above `value`."""
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        is_exponential = self._is_exponential()
        c = self._nonzero_concentration(is_exponential)
        return -mt.where(is_exponential, z, mt.log1p(c * z) / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return mt.log1p(-mt.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return mt.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        is_exponential = self._is_exponential()
        c = self._nonzero_concentration(is_exponential)
        log_above = mt.log1p(-value)
        return mt.where(
            is_exponential,
            self.loc - self.scale * log_above,
            self.loc + self.scale * mt.expm1(-c * log_above) / c,
        )

    @property
    def mean(self) -> Tensor:
        """NaN for concentrations from 1."""
        return mt.where(self.concentration < 1, self.loc + self.scale / (1 - self.concentration), math.nan)

    @property
    def variance(self) -> Tensor:
        """NaN for concentrations from 1/2."""
        finite = self.scale**2 / ((1 - self.concentration) ** 2 * (1 - 2 * self.concentration))
        return mt.where(self.concentration < 0.5, finite, math.nan)

    def entropy(self) -> Tensor:
        return mt.log(self.scale) + self.concentration + 1

    @property
    def mode(self) -> Tensor:
        """`loc`."""
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From `loc`, up to where a negative concentration ends it."""
        ends = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, mt.where(self.concentration < 0, ends, math.inf))
