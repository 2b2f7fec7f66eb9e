"""Formulas of divergences, found by the classes of two distributions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from mt_core import Tensor

from ..distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

_Formula = Callable[[Any, Any], Tensor]

#: Formulas by the classes that they are for.
_KL_REGISTRY: dict[tuple[type, type], _Formula] = {}
#: Formulas by the classes that were asked for; None where there is none.
_KL_MEMOIZE: dict[tuple[type, type], _Formula | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[_Formula], _Formula]:
    """A decorator: the function gives the divergence of distributions of two classes, and of their subclasses.

    Bases that a library mixes into its distributions (pyro's ``Distribution``) are classes like others.

    Raises
    ------
    TypeError
        For what is no class.
    """
    if not (isinstance(type_p, type) and isinstance(type_q, type)):
        raise TypeError("issubclass() arg 1 must be a class")

    def register(formula: _Formula) -> _Formula:
        _KL_REGISTRY[type_p, type_q] = formula
        _KL_MEMOIZE.clear()
        return formula

    return register


def _dispatch_kl(type_p: type, type_q: type) -> _Formula | None:
    """The formula for the nearest classes, those of p first."""
    matches = [pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not matches:
        return None
    far_p, far_q = type_p.__mro__.index, type_q.__mro__.index
    by_p = min(matches, key=lambda pair: (far_p(pair[0]), far_q(pair[1])))
    by_q = min(matches, key=lambda pair: (far_q(pair[1]), far_p(pair[0])))
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({by_p[0].__name__}, "
            f"{by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The divergence of q from p in nats: the mean, under p, of the difference of their logarithmic densities.

    Raises
    ------
    NotImplementedError
        Where no formula is known for the two classes.
    """
    kinds = type(p), type(q)
    if kinds in _KL_MEMOIZE:
        formula = _KL_MEMOIZE[kinds]
    else:
        formula = _KL_MEMOIZE[kinds] = _dispatch_kl(*kinds)
    if formula is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    return formula(p, q)
