"""Distributions that are told probabilities or the logarithms of odds or of shares, and compute one from the other."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core import Tensor

from .utils import lazy_property, logits_to_probs, probs_to_logits

__all__ = ["BinaryOdds", "OfCategorical", "require_one"]


def require_one(probs: Any, logits: Any) -> None:
    """Refuse both and neither.

    Raises
    ------
    ValueError
        Where not exactly one was given.
    """
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class BinaryOdds:
    """Members of distributions with a probability; each is computed of the other where it was not given."""

    @lazy_property
    def logits(self) -> Tensor:
        """Logarithms of odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def _param(self) -> Tensor:
        """What was given."""
        return self.__dict__["probs" if self._by_probs else "logits"]  # type: ignore[no-any-return]

    _by_probs: bool

    def _expand_rest(self, made: Any, batch_shape: mt.Size) -> None:
        made._by_probs = self._by_probs

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)  # type: ignore[attr-defined, no-any-return]

    @property
    def param_shape(self) -> mt.Size:
        """The shape of what was given."""
        return self._param.size()


class OfCategorical:
    """Members of distributions over the categories of another distribution, `_categorical`."""

    _categorical: Any

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)  # type: ignore[no-any-return]

    @property
    def _param(self) -> Tensor:
        return self._categorical._param  # type: ignore[no-any-return]

    @property
    def probs(self) -> Tensor:
        """Shares of the categories, along the last dimension."""
        return self._categorical.probs  # type: ignore[no-any-return]

    @property
    def logits(self) -> Tensor:
        """Logarithms of the shares."""
        return self._categorical.logits  # type: ignore[no-any-return]

    @property
    def param_shape(self) -> mt.Size:
        """The shape of what was given."""
        return self._categorical.param_shape  # type: ignore[no-any-return]
