"""Evaluating polynomials and functions given by cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["by_cases", "in_double", "polynomial", "scaled"]

Function = Callable[..., Any]


def polynomial(coefficients: Sequence[float], t: Any) -> Any:
    """Horner's rule, coefficients from the highest."""
    result = coefficients[0] * t
    for coefficient in coefficients[1:-1]:
        result += coefficient
        result *= t
    result += coefficients[-1]
    return result


def scaled(x: Any, low: float, high: float) -> Any:
    """x in [low, high] as t in [-1, 1], the variable of the tables."""
    return (x - (low + high) / 2) * (2 / (high - low))


def by_cases(arguments: Any, *cases: tuple[Any, Function]) -> Any:
    """One function where its mask holds, the next where its own does and none before did, ...; NaN elsewhere.

    `arguments` is what the functions take: an array, or a tuple of arrays of one shape.
    """
    arrays = arguments if isinstance(arguments, tuple) else (arguments,)
    result = np.full(arrays[0].shape, np.nan)
    left = np.ones(arrays[0].shape, bool)
    for mask, function in cases:
        chosen = left & mask
        if chosen.any():
            result[chosen] = function(*(a[chosen] for a in arrays))
        left &= ~chosen
    return result


def in_double(function: Function) -> Function:
    """Decorator: a function of 1-d float64 arrays, made one of arrays of any floating dtype and shape, broadcast.

    The result has the dtype of the first argument.
    """

    def run(first: Any, *others: Any) -> Any:
        arrays = np.broadcast_arrays(first, *others) if others else (np.asarray(first),)
        wide = [np.asarray(a, np.float64).reshape(-1) for a in arrays]
        return function(*wide).reshape(arrays[0].shape).astype(np.asarray(first).dtype)

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    return run
