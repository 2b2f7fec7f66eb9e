"""``torch.distributions.continuous_bernoulli``: the continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import mt_core as mt
import mt_nn.functional as F
from mt_core import Size, Tensor

from .. import special
from ..types import _Number, _size
from . import constraints
from ._odds import BinaryOdds, require_one
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(BinaryOdds, ExponentialFamily):
    """Numbers from 0 to 1 of density proportional to ``probs ** x * (1 - probs) ** (1 - x)``.

    G. Loaiza-Ganem and J. P. Cunningham, "The continuous Bernoulli: fixing a pervasive error in variational
    autoencoders" (2019).

    Parameters
    ----------
    probs, logits
        One of them.
    lims
        Between these probabilities Taylor's series at 1/2 are used, where the formulas divide 0 by 0.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = {"probs": 0, "logits": 0}

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        require_one(probs, logits)
        self._by_probs = probs is not None
        given = probs if self._by_probs else logits
        (value,) = broadcast_all(given)
        if self._by_probs:
            # Against the parameter as given, before it is kept away from the ends.
            if validate_args is not None and not self.arg_constraints["probs"].check(value).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(value)
        else:
            self.logits = value
        self._lims = lims
        super().__init__(Size() if isinstance(given, _Number) else value.size(), validate_args=validate_args)

    def _expand_rest(self, made: Any, batch_shape: Size) -> None:
        super()._expand_rest(made, batch_shape)
        made._lims = self._lims

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities, kept away from 0 and 1."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Tensor:
        return mt.max(mt.le(self.probs, self._lims[0]), mt.gt(self.probs, self._lims[1]))

    def _cut_probs(self) -> Tensor:
        """`probs`, and a constant where the series are used, so that nothing there becomes NaN in gradients."""
        return mt.where(self._outside_unstable_region(), self.probs, self._lims[0] * mt.ones_like(self.probs))

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of what normalizes the density."""
        cut = self._cut_probs()
        below = mt.where(mt.le(cut, 0.5), cut, mt.zeros_like(cut))
        above = mt.where(mt.ge(cut, 0.5), cut, mt.ones_like(cut))
        formula = mt.log(mt.abs(mt.log1p(-cut) - mt.log(cut))) - mt.where(
            mt.le(cut, 0.5), mt.log1p(-2.0 * below), mt.log(2.0 * above - 1.0)
        )
        x = mt.pow(self.probs - 0.5, 2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return mt.where(self._outside_unstable_region(), formula, series)

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        formula = cut / (2.0 * cut - 1.0) + 1.0 / (mt.log1p(-cut) - mt.log(cut))
        x = self.probs - 0.5
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * mt.pow(x, 2)) * x
        return mt.where(self._outside_unstable_region(), formula, series)

    @property
    def stddev(self) -> Tensor:
        return mt.sqrt(self.variance)

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        formula = cut * (cut - 1.0) / mt.pow(1.0 - 2.0 * cut, 2) + 1.0 / mt.pow(mt.log1p(-cut) - mt.log(cut), 2)
        x = mt.pow(self.probs - 0.5, 2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return mt.where(self._outside_unstable_region(), formula, series)

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(mt.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut_probs()
        formula = (mt.pow(cut, value) * mt.pow(1.0 - cut, 1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        within = mt.where(self._outside_unstable_region(), formula, value)
        return mt.where(
            mt.le(value, 0.0), mt.zeros_like(value), mt.where(mt.ge(value, 1.0), mt.ones_like(value), within)
        )

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut_probs()
        return mt.where(
            self._outside_unstable_region(),
            (mt.log1p(-cut + value * (2.0 * cut - 1.0)) - mt.log1p(-cut)) / (mt.log(cut) - mt.log1p(-cut)),
            value,
        )

    def entropy(self) -> Tensor:
        log_failure, log_success = mt.log1p(-self.probs), mt.log(self.probs)
        return self.mean * (log_failure - log_success) - self._cont_bern_log_norm() - log_failure

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        """The logarithm of (exp(x) - 1) / x."""
        outside = mt.max(mt.le(x, self._lims[0] - 0.5), mt.gt(x, self._lims[1] - 0.5))
        cut = mt.where(outside, x, (self._lims[0] - 0.5) * mt.ones_like(x))
        formula = mt.log(mt.abs(special.expm1(cut))) - mt.log(mt.abs(cut))
        series = 0.5 * x + mt.pow(x, 2) / 24.0 - mt.pow(x, 4) / 2880.0
        return mt.where(outside, formula, series)
