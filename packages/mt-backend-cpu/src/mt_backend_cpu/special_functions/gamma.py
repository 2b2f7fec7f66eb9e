"""The gamma function's logarithm and its derivatives, and the Hurwitz zeta function behind them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _tables as tables
from ._evaluate import by_cases, in_double, polynomial, scaled

__all__ = ["digamma", "lgamma", "lgamma_double", "lgamma_near_1", "polygamma", "stirling_correction", "zeta"]

#: B(2k) / (2k (2k - 1)): Stirling's series of lgamma in 1 / x**(2k - 1), highest first.
_STIRLING = (-3617 / 122400, 1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
#: B(2k) / (2k): the series of digamma in 1 / x**(2k), highest first.
_DIGAMMA = (-3617 / 8160, 1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
#: B(2k) / (2k)!, lowest first, for the Euler-Maclaurin formula.
_BERNOULLI = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000, 43867 / 5109094217170944000, -174611 / 802857662698291200000,
)  # fmt: skip


def stirling_correction(x: Any) -> Any:
    """lgamma(x) - ((x - 1/2) log(x) - x + log(2 pi) / 2), for x >= 10."""
    reciprocal = 1 / x
    return polynomial(_STIRLING, reciprocal * reciprocal) * reciprocal


def _stirling(x: Any) -> Any:
    return (x - 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + stirling_correction(x)


def lgamma_near_1(offset: Any) -> Any:
    """lgamma(1 + offset) for an offset in [-0.5, 0.5], without rounding the sum."""
    return offset * polynomial(tables.LGAMMA_AT_1, 2 * offset)


def _positive(x: Any) -> Any:
    return by_cases(
        x,
        (x == np.inf, lambda x: x),
        (x >= 10, _stirling),
        (x >= 5, lambda x: polynomial(tables.LGAMMA_5_10, scaled(x, 5, 10))),
        (x >= 2.5, lambda x: polynomial(tables.LGAMMA_2_5, scaled(x, 2.5, 5))),
        (x >= 1.5, lambda x: (x - 2) * polynomial(tables.LGAMMA_AT_2, 2 * (x - 2))),
        (x >= 0.5, lambda x: lgamma_near_1(x - 1)),
        (x > 0, lambda x: lgamma_near_1(x) - np.log(x)),
    )


def _reflected(x: Any) -> Any:
    """For negative x that are no integers: Gamma(x) Gamma(-x) = -pi / (x sin(pi x))."""
    sine = np.abs(np.sin(math.pi * (x - np.round(x))))
    return math.log(math.pi) - np.log(-x) - np.log(sine) - _positive(-x)


def lgamma_double(x: Any) -> Any:
    """The logarithm of abs(Gamma(x)) for a 1-d float64 array; infinite at 0, -1, -2, ..."""
    return by_cases(x, (x > 0, _positive), (x == np.floor(x), lambda x: np.full(x.shape, np.inf)), (x < 0, _reflected))


lgamma = in_double(lgamma_double)


# Derivatives of lgamma


def _digamma_positive(x: Any) -> Any:
    """Moved up to 10 or more, where the asymptotic series has full accuracy."""
    shift = np.zeros(x.shape)
    for _ in range(10):
        low = x < 10
        shift = np.where(low, shift + 1 / x, shift)
        x = np.where(low, x + 1, x)
    square = 1 / (x * x)
    return np.log(x) - 0.5 / x - square * polynomial(_DIGAMMA, square) - shift


@in_double
def digamma(x: Any) -> Any:
    """The derivative of lgamma; infinite at 0, NaN at -1, -2, ..."""
    return by_cases(
        x,
        (x == 0, lambda x: np.copysign(np.inf, -x)),
        (x == np.inf, lambda x: x),
        (x > 0, _digamma_positive),
        (x == np.floor(x), lambda x: x * np.nan),
        (x < 0, lambda x: _digamma_positive(1 - x) - math.pi / np.tan(math.pi * (x - np.round(x)))),
    )


def _trigamma(x: Any) -> Any:
    return by_cases(
        x,
        (x >= 0.5, lambda x: _zeta(np.full(x.shape, 2.0), x)),
        (x < 0.5, lambda x: (math.pi / np.sin(math.pi * (x - np.round(x)))) ** 2 - _zeta(np.full(x.shape, 2.0), 1 - x)),
    )


def polygamma(n: int, x: Any) -> Any:
    """The derivative of order n + 1 of lgamma."""
    if n == 0:
        return digamma(x)
    if n == 1:
        return in_double(_trigamma)(x)
    factor = (1.0 if n % 2 else -1.0) * (float(math.factorial(n)) if n <= 170 else math.inf)
    return in_double(lambda x: factor * _zeta(np.full(x.shape, n + 1.0), x))(x)


# The Hurwitz zeta function


def _zeta_positive(x: Any, q: Any) -> Any:
    """Sum of (q + k)**-x over k >= 0 for q > 0: nine terms or more, and the Euler-Maclaurin formula for the rest."""
    total = np.zeros(q.shape)
    for count in range(19):
        more = (count < 9) | (q <= 9)
        total = np.where(more, total + q**-x, total)
        q = np.where(more, q + 1, q)
    power = q**-x
    total = total + power * q / (x - 1) + 0.5 * power
    factor = x
    power = power / q
    for k, coefficient in enumerate(_BERNOULLI):
        total = total + coefficient * factor * power
        factor = factor * (x + 2 * k + 1) * (x + 2 * k + 2)
        power = power / (q * q)
    return total


def _zeta_negative(x: Any, q: Any) -> Any:
    """For whole x: the terms below zero are those of positive arguments, up to their sign, without those beyond q."""
    fraction = -q - np.floor(-q)
    below = _zeta_positive(x, fraction) - _zeta_positive(x, 1 - q)
    return _zeta_positive(x, 1 - fraction) + np.where(x % 2 == 0, below, -below)


def _zeta(x: Any, q: Any) -> Any:
    return by_cases(
        (x, q),
        (x == 1, lambda x, q: x * np.inf),
        (~(x > 1) | np.isnan(q), lambda x, q: x * np.nan),
        ((q <= 0) & (q == np.floor(q)), lambda x, q: np.full(q.shape, np.inf)),
        ((q <= 0) & (x != np.floor(x)), lambda x, q: q * np.nan),
        (q > 0, _zeta_positive),
        (q < 0, _zeta_negative),
    )


zeta = in_double(_zeta)
