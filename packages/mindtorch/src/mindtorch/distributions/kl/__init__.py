"""``torch.distributions.kl``: Kullback-Leibler divergences, found by the classes of two distributions."""

from __future__ import annotations

from . import infinite, multivariate, same_class, two_classes  # noqa: F401  (they register their formulas)
from .registry import _KL_MEMOIZE as _KL_MEMOIZE
from .registry import _KL_REGISTRY as _KL_REGISTRY
from .registry import kl_divergence, register_kl

__all__ = ["kl_divergence", "register_kl"]
