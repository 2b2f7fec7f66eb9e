"""``torch.distributions.exp_family``: exponential families."""

from __future__ import annotations

from typing import Any

import mt_autograd
from mt_core import Tensor

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Distributions with densities ``exp(<t(x), theta> - F(theta) + k(x))``.

    A class gives the natural parameters theta, the log-normalizer F, and the mean of the carrier measure k.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, by the gradient of the log-normalizer.

        F. Nielsen and R. Nock, "Entropies and cross-entropies of exponential families" (2010).
        """
        natural = [p.detach().requires_grad_() for p in self._natural_params]
        log_normalizer: Tensor = self._log_normalizer(*natural)
        means = mt_autograd.grad(log_normalizer.sum(), natural, create_graph=True)
        result: Tensor = -self._mean_carrier_measure  # type: ignore[assignment]
        result = result + log_normalizer
        for parameter, mean in zip(natural, means):
            result = result - (parameter * mean).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
