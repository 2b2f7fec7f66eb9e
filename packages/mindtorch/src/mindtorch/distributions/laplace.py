"""``torch.distributions.laplace``: the Laplace distribution."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core import Size, Tensor

from ..types import _Number, _size
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Laplace numbers.

    Parameters
    ----------
    loc
        Mean.
    scale
        Mean distance from `loc`.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parameters = {"loc": 0, "scale": 0}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        numbers = isinstance(loc, _Number) and isinstance(scale, _Number)
        super().__init__(Size() if numbers else self.loc.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """`loc`."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """`loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Twice the square of `scale`."""
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        """The root of 2 times `scale`."""
        return (2**0.5) * self.scale

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        # Above -1, so that the logarithm is finite.
        u = self.loc.new_empty(self._extended_shape(sample_shape)).uniform_(mt.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * mt.log1p(-u.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -mt.log(2 * self.scale) - mt.abs(value - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        off = value - self.loc
        return 0.5 - 0.5 * off.sign() * mt.expm1(-off.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * mt.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        return 1 + mt.log(2 * self.scale)
