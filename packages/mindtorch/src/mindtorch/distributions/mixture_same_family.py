"""``torch.distributions.mixture_same_family``: mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core import Size, Tensor

from ..types import _size
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """Draws from one of the distributions of a batch, chosen by its last dimension.

    Parameters
    ----------
    mixture_distribution
        Chooses the component.
    component_distribution
        The components, along the last dimension of its batch.
    """

    arg_constraints: dict[str, constraints.Constraint] = {}
    has_rsample = False
    _parameters: dict[str, int] = {}

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        mixture_shape = mixture_distribution.batch_shape
        component_shape = component_distribution.batch_shape[:-1]
        for of_mixture, of_component in zip(reversed(mixture_shape), reversed(component_shape)):
            if of_mixture != 1 and of_component != 1 and of_mixture != of_component:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture_shape}) is not compatible with "
                    f"`component_distribution.batch_shape`({component_shape})"
                )
        of_mixture = mixture_distribution.logits.shape[-1]
        of_component = component_distribution.batch_shape[-1]
        if of_mixture is not None and of_component is not None and of_mixture != of_component:
            raise ValueError(
                f"`mixture_distribution component` ({of_mixture}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({of_component})"
            )
        self._num_component = of_mixture
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(component_shape, event_shape, validate_args=validate_args)

    def _expand_rest(self, made: Any, batch_shape: Size) -> None:
        made._component_distribution = self._component_distribution.expand(batch_shape + (self._num_component,))
        made._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        made._num_component = self._num_component
        made._event_ndims = self._event_ndims

    @constraints.dependent_property
    def support(self) -> Any:
        """That of the components."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """Chooses the component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    @property
    def mean(self) -> Tensor:
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return mt.sum(probs * self.component_distribution.mean, dim=-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        """The mean of the variances and the variance of the means."""
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        dim = -1 - self._event_ndims
        within = mt.sum(probs * self.component_distribution.variance, dim=dim)
        means = self.component_distribution.mean
        return within + mt.sum(probs * (means - self._pad(self.mean)).pow(2.0), dim=dim)

    def cdf(self, x: Tensor) -> Tensor:
        probs = self.mixture_distribution.probs
        return mt.sum(self.component_distribution.cdf(self._pad(x)) * probs, dim=-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        of_components = self.component_distribution.log_prob(self._pad(x))
        of_mixture = mt.log_softmax(self.mixture_distribution.logits, dim=-1)
        return mt.logsumexp(of_components + of_mixture, dim=-1)

    def sample(self, sample_shape: _size = ()) -> Tensor:
        with mt.no_grad():
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            dim = len(sample_shape) + len(self.batch_shape)
            # One choice for all elements of a draw.
            index = chosen.reshape(chosen.shape + (1,) * (len(self.event_shape) + 1))
            repeats = (1,) * (chosen.dim() + 1) + tuple(self.event_shape)
            return drawn.gather(dim, index.repeat(repeats)).squeeze(dim)

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Tensor) -> Tensor:
        missing = len(self.batch_shape) - len(self.mixture_distribution.batch_shape)
        return x.reshape(x.shape[:-1] + Size(missing * [1]) + x.shape[-1:] + Size(self._event_ndims * [1]))

    def __repr__(self) -> str:
        return self.__class__.__name__ + "(" + f"\n  {self.mixture_distribution!r},\n  {self.component_distribution!r})"
