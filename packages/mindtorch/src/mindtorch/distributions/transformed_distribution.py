"""``torch.distributions.transformed_distribution``: functions of random variables as distributions."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core import Tensor

from ..types import _size
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """What functions make, one after the other, of the draws of a distribution.

    Parameters
    ----------
    base_distribution
        What is drawn first.
    transforms
        A function, or a list of them; distribution and functions are expanded to a common shape.

    Raises
    ------
    ValueError
        For what is not a transform, and where draws have fewer dimensions than the functions need.
    """

    arg_constraints: dict[str, constraints.Constraint] = {}
    _parameters: dict[str, int] = {}
    base_dist: Any

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list):
            if not all(isinstance(t, Transform) for t in transforms):
                raise ValueError("transforms must be a Transform or a list of Transforms")
            self.transforms = transforms
        else:
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")

        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_event_dim = len(base_distribution.event_shape)
        transform = ComposeTransform(self.transforms)
        if len(base_shape) < transform.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {transform.domain.event_dim}, but got "
                f"{base_shape}."
            )
        forward_shape = transform.forward_shape(base_shape)
        expanded_base_shape = transform.inverse_shape(forward_shape)
        if base_shape != expanded_base_shape:
            cut = len(expanded_base_shape) - len(base_distribution.event_shape)
            base_distribution = base_distribution.expand(expanded_base_shape[:cut])
        # Dimensions that become part of a value.
        joined = transform.domain.event_dim - base_event_dim
        if joined > 0:
            base_distribution = Independent(base_distribution, joined)
        self.base_dist = base_distribution

        event_dim = transform.codomain.event_dim + max(base_event_dim - transform.domain.event_dim, 0)
        if len(forward_shape) < event_dim:
            raise AssertionError(f"shape {forward_shape} has fewer dimensions than the {event_dim} of a value")
        cut = len(forward_shape) - event_dim
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: Any = None) -> Any:
        made = self._get_checked_instance(TransformedDistribution, _instance)
        batch_shape = mt.Size(batch_shape)
        shape = batch_shape + self.event_shape
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        base_batch_shape = shape[: len(shape) - len(self.base_dist.event_shape)]
        made.base_dist = self.base_dist.expand(base_batch_shape)
        made.transforms = self.transforms
        Distribution.__init__(made, batch_shape, self.event_shape, validate_args=False)
        made._validate_args = self._validate_args
        return made

    def _expanded(self, batch_shape: _size, _instance: Any, owner: type) -> Any:
        """For classes with parameters of their own: expanded as an object of `owner`, or of its subclass."""
        return TransformedDistribution.expand(self, batch_shape, self._get_checked_instance(owner, _instance))

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """The results of the last function."""
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        if len(self.event_shape) > support.event_dim:
            support = constraints.independent(support, len(self.event_shape) - support.event_dim)
        return support

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """As the base distribution."""
        return self.base_dist.has_rsample

    def sample(self, sample_shape: _size = ()) -> Tensor:
        with mt.no_grad():
            x = self.base_dist.sample(sample_shape)
            for transform in self.transforms:
                x = transform(x)
            return x

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        x = self.base_dist.rsample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        event_dim = len(self.event_shape)
        log_prob: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            log_prob = log_prob - sum_rightmost(
                transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim
            )
            y = x
        return log_prob + sum_rightmost(  # type: ignore[no-any-return]
            self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape)
        )

    def _monotonize_cdf(self, value: Any) -> Any:
        """Probabilities of draws up to a value, where falling functions have turned them round."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in self.transforms[::-1]:
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))  # type: ignore[no-any-return]

    def icdf(self, value: Tensor) -> Tensor:
        value = self.base_dist.icdf(self._monotonize_cdf(value))
        for transform in self.transforms:
            value = transform(value)
        return value
