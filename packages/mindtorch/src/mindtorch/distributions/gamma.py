"""``torch.distributions.gamma``: the gamma distribution."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core import Size, Tensor
from mt_core.api import _functions as ops
from mt_core.interop import as_tensor

from .. import special
from ..types import _Number, _size
from . import constraints
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Gamma numbers.

    Parameters
    ----------
    concentration
        Shape parameter.
    rate
        The inverse of the scale.
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = {"concentration": 0, "rate": 0}

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        numbers = isinstance(concentration, _Number) and isinstance(rate, _Number)
        super().__init__(Size() if numbers else self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """concentration / rate."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        """(concentration - 1) / rate, or 0."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        """concentration / rate squared."""
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = ops._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=mt.finfo(value.dtype).tiny)  # not recorded: 0 is not in the support
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return (
            mt.xlogy(self.concentration, self.rate)
            + mt.xlogy(self.concentration - 1, value)
            - self.rate * value
            - mt.lgamma(self.concentration)
        )

    def entropy(self) -> Tensor:
        return (
            self.concentration
            - mt.log(self.rate)
            + mt.lgamma(self.concentration)
            + (1.0 - self.concentration) * mt.digamma(self.concentration)
        )

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return special.gammainc(self.concentration, self.rate * value)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return mt.lgamma(x + 1) + (x + 1) * mt.log(-y.reciprocal())
