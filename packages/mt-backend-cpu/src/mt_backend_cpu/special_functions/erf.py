"""The error function, its complements and its inverse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _tables as tables
from ._evaluate import by_cases, in_double, polynomial
from .erf_single import erf_single, erf_single_of_scaled

__all__ = ["erf", "erfc", "erfcx", "erfinv", "erf_of_scaled", "log_ndtr", "ndtri"]

SQRT_HALF = math.sqrt(0.5)
_HALF_SQRT_PI = math.sqrt(math.pi) / 2


def erf(x: Any) -> Any:
    """The error function; single precision for float32 arrays."""
    return erf_single(x) if x.dtype == np.float32 and x.ndim else erf_double(x)


def erf_of_scaled(x: Any) -> Any:
    """erf(x / sqrt(2)), for arrays with at least one dimension."""
    return erf_single_of_scaled(x) if x.dtype == np.float32 else erf_double(x * SQRT_HALF)


@in_double
def erf_double(x: Any) -> Any:
    magnitude = np.abs(x)
    return by_cases(x, (magnitude < 1, _erf_small), (magnitude >= 1, _erf_large))


def _erf_small(x: Any) -> Any:
    return x * polynomial(tables.ERF, 2 * x * x - 1)


def _erf_large(x: Any) -> Any:
    return np.copysign(1 - _tail(np.abs(x)), x)


def _tail(x: Any) -> Any:
    """erfc of x >= 0. The square in the exponent is split, so that its rounding error is not multiplied by x."""
    upper = np.floor(np.minimum(x, 30) * 16) / 16
    x = np.minimum(x, 30)
    return np.exp(-upper * upper) * np.exp((upper - x) * (upper + x)) * _erfcx_positive(x)


def _erfcx_positive(x: Any) -> Any:
    """exp(x * x) * erfc(x) for x >= 0 (Shepherd and Laframboise, Mathematics of Computation 36, 1981)."""
    t = np.where(np.isinf(x), 1.0, (x - 3.75) / (x + 3.75))
    return polynomial(tables.ERFCX, t) / (1 + 2 * x)


def _complement(x: Any) -> Any:
    return by_cases(x, (np.abs(x) < 0.5, lambda x: 1 - _erf_small(x)), (x > 0, _tail), (x < 0, lambda x: 2 - _tail(-x)))


@in_double
def erfc(x: Any) -> Any:
    """1 - erf(x), accurate where it is small."""
    return _complement(x)


@in_double
def erfcx(x: Any) -> Any:
    """exp(x * x) * erfc(x)."""
    return by_cases(x, (x >= 0, _erfcx_positive), (x < 0, _erfcx_negative))


def _erfcx_negative(x: Any) -> Any:
    upper = np.ceil(np.maximum(x, -30) * 16) / 16
    limited = np.maximum(x, -30)
    return 2 * np.exp(upper * upper) * np.exp((limited - upper) * (limited + upper)) - _erfcx_positive(-x)


# Inverses: a closed-form guess, and steps of Halley's method, each of which triples the number of correct digits


def _guess(y: Any, complement: Any) -> Any:
    """erfinv(y) within 4e-3, for y in (0, 1) and complement = 1 - y (Winitzki, 2008)."""
    log = np.log(complement * (1 + y))
    a = 0.147
    half = 2 / (math.pi * a) + log / 2
    return np.sqrt(np.sqrt(half * half - log / a) - half)


def _inverse_small(y: Any) -> Any:
    """erfinv for abs(y) <= 0.5."""
    x = np.copysign(_guess(np.abs(y), 1 - np.abs(y)), y)
    for _ in range(3):
        error = (_erf_small(x) - y) * np.exp(x * x) * _HALF_SQRT_PI
        x = x - error / (1 + x * error)
    return x


def _inverse_tail(complement: Any) -> Any:
    """The x > 0 with erfc(x) = complement, for a complement in (0, 0.5]."""
    x = _guess(1 - complement, complement)
    for _ in range(3):
        # (erfc(x) - complement) / erfc'(x), with the exponential divided out
        error = (complement * np.exp(x * x) - _erfcx_positive(x)) * _HALF_SQRT_PI
        x = x - error / (1 + x * error)
    return x


@in_double
def erfinv(y: Any) -> Any:
    """The x with erf(x) = y; infinite at 1 and -1, NaN beyond."""
    magnitude = np.abs(y)
    return by_cases(
        y,
        (y == 0, lambda y: y),
        (magnitude <= 0.5, _inverse_small),
        (magnitude < 1, lambda y: np.copysign(_inverse_tail(1 - np.abs(y)), y)),
        (magnitude == 1, lambda y: y * np.inf),
    )


@in_double
def ndtri(p: Any) -> Any:
    """The x at which the normal distribution function is p; infinite at 0 and 1, NaN beyond."""
    return by_cases(
        p,
        (p == 0, lambda p: p - np.inf),
        (p == 1, lambda p: p + np.inf),
        (p < 0, lambda p: p * np.nan),
        (p <= 0.25, lambda p: -_inverse_tail(2 * p) / SQRT_HALF),
        (p == 0.5, lambda p: p * 0),
        (p < 0.75, lambda p: _inverse_small(2 * p - 1) / SQRT_HALF),
        (p < 1, lambda p: _inverse_tail(2 * (1 - p)) / SQRT_HALF),
    )


def _normal_tail(x: Any) -> Any:
    """1 - ndtr(x) for x >= 0; the square is split as in `_tail`."""
    x = np.minimum(x, 45)
    upper = np.floor(x * 16) / 16
    return np.exp(-upper * upper / 2) * np.exp((upper - x) * (upper + x) / 2) * _erfcx_positive(x * SQRT_HALF) / 2


@in_double
def log_ndtr(x: Any) -> Any:
    """The logarithm of the normal distribution function."""
    return by_cases(
        x,
        (x < -1, lambda x: np.log(_erfcx_positive(-x * SQRT_HALF) / 2) - x * x / 2),
        (x < 0, lambda x: np.log(_normal_tail(-x))),
        (x >= 0, lambda x: np.log1p(-_normal_tail(x))),
    )
