"""The regularized incomplete gamma functions P (`igamma`) and Q = 1 - P (`igammac`).

Where neither argument dominates and `a` is large, Temme's uniform expansion; otherwise the series of P below `a`, the
continued fraction of Q above, and a series of Q near zero (NIST Digital Library of Mathematical Functions, chapter 8).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._evaluate import in_double
from .erf import _complement as erfc
from .gamma import lgamma_double, lgamma_near_1, stirling_correction

__all__ = ["igamma", "igammac"]

_EPSILON = 2.0**-53
_MOST_TERMS = 2000


def log1p_less(mu: Any) -> Any:
    """log(1 + mu) - mu without cancellation, by the series of atanh."""
    r = mu / (2 + mu)
    square = r * r
    series = np.zeros(np.shape(mu))
    for k in range(41, 1, -2):
        series = series * square + 1 / k
    return np.where(np.abs(mu) < 0.5, -mu * r + 2 * r * square * series, np.log1p(mu) - mu)


def _factor(a: Any, x: Any) -> Any:
    """x**a * exp(-x) / Gamma(a + 1)."""
    large = a >= 10
    safe = np.where(large, a, 10.0)
    by_stirling = np.exp(safe * log1p_less((x - safe) / safe) - stirling_correction(safe)) / np.sqrt(2 * math.pi * safe)
    direct = np.exp(a * np.log(x) - x - lgamma_double(a + 1))
    return np.where(large, by_stirling, direct)


def _series_of_p(a: Any, x: Any) -> Any:
    """DLMF 8.11.4."""
    term = total = np.ones(a.shape)
    for n in range(1, _MOST_TERMS):
        term = term * (x / (a + n))
        total = total + term
        if np.all(term <= total * _EPSILON):
            break
    return total * _factor(a, x)


def _fraction_of_q(a: Any, x: Any) -> Any:
    """DLMF 8.9.2, by Lentz's method."""
    b = x + 1 - a
    c = np.full(a.shape, 1e300)
    d = 1 / b
    h = d
    for n in range(1, _MOST_TERMS):
        step = -n * (n - a)
        b = b + 2
        d = 1 / (step * d + b)
        c = b + step / c
        h = h * (c * d)
        if np.all(np.abs(c * d - 1) <= _EPSILON):
            break
    return h * _factor(a, x) * a


def _series_of_q(a: Any, x: Any) -> Any:
    """DLMF 8.7.3 for small x, arranged so that nothing cancels when `a` is small."""
    term, total = np.ones(a.shape), np.zeros(a.shape)
    for n in range(1, 60):
        term = term * (-x / n)
        total = total + term / (a + n)
    lgamma = np.where(a < 0.5, lgamma_near_1(np.minimum(a, 0.5)), lgamma_double(1 + a))
    log = a * np.log(x) - lgamma
    return -np.expm1(log) - np.exp(log) * a * total


# Temme's expansion


def _eta_coefficients(count: int) -> list[float]:
    """Coefficients of eta / (lambda - 1) in powers of eta, where eta**2 / 2 = lambda - 1 - log(lambda).

    With lambda - 1 = sum of c[k] * eta**k, differentiating gives (lambda - 1) lambda' = eta * lambda, which is solved
    power by power.
    """
    c = [0.0, 1.0]
    for n in range(2, count + 2):
        inner = math.fsum((n - k + 1) * c[k] * c[n - k + 1] for k in range(2, n))
        c.append((c[n - 1] - inner) / (n + 1))
    f = [1.0]
    for n in range(1, count):
        f.append(-math.fsum(c[k + 1] * f[n - k] for k in range(1, n + 1)))
    return f


_F = _eta_coefficients(32)


def _uniform(a: Any, x: Any, lower: bool) -> Any:
    """P or Q by erfc and a correction whose Taylor coefficients a recursion gives (Temme, 1987), for a >= 12."""
    mu = (x - a) / a
    eta = np.sign(mu) * np.sqrt(-2 * log1p_less(mu))
    beta = [np.zeros(a.shape)] * (len(_F) + 2)
    for n in range(len(_F) - 1, 0, -1):
        beta[n - 1] = (n + 1) / a * beta[n + 1] + _F[n]
    total = np.zeros(a.shape)
    for coefficient in reversed(beta[: len(_F)]):
        total = total * eta + coefficient
    correction = total / (1 + beta[1] / a) * np.exp(-0.5 * a * eta * eta) / np.sqrt(2 * math.pi * a)
    sign = -1 if lower else 1
    return 0.5 * erfc(sign * eta * np.sqrt(a / 2)) + sign * correction


# Choosing between them


def _regions(a: Any, x: Any) -> list[tuple[Any, Any]]:
    """Where each method applies, for positive finite arguments.

    A method takes the arguments and whether P is wanted.
    """
    ratio = x / a
    uniform = (a >= 12) & (ratio > 0.4) & (ratio < 2.2)
    near_zero = ~uniform & (x <= 1.1) & (a < 1.1) & (a < x + 0.5)
    series = ~uniform & ~near_zero & (x < a + 1)
    fraction = ~uniform & ~near_zero & ~series
    return [
        (uniform, _uniform),
        (near_zero, lambda a, x, lower: _one_of(_series_of_q(a, x), not lower)),
        (series, lambda a, x, lower: _one_of(_series_of_p(a, x), lower)),
        (fraction, lambda a, x, lower: _one_of(_fraction_of_q(a, x), not lower)),
    ]


def _one_of(value: Any, wanted: bool) -> Any:
    return value if wanted else 1 - value


def _regularized(a: Any, x: Any, lower: bool) -> Any:
    """P where `lower`, else Q."""
    zero, one = (0.0, 1.0) if lower else (1.0, 0.0)
    result = np.full(a.shape, np.nan)
    valid = ~((a < 0) | (x < 0) | (a == 0) & (x == 0) | np.isinf(a) & np.isinf(x))
    result[valid & ((x == 0) | np.isinf(a))] = zero
    result[valid & ((a == 0) | np.isinf(x))] = one
    ordinary = valid & (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    a, x = a[ordinary], x[ordinary]
    values = np.empty(a.shape)
    for mask, method in _regions(a, x):
        if mask.any():
            values[mask] = method(a[mask], x[mask], lower)
    result[ordinary] = np.clip(values, 0, 1)
    return result


@in_double
def igamma(a: Any, x: Any) -> Any:
    """P(a, x): 0 at x = 0, 1 at infinity; NaN for negative arguments."""
    return _regularized(a, x, True)


@in_double
def igammac(a: Any, x: Any) -> Any:
    """Q(a, x) = 1 - P(a, x), accurate where it is small."""
    return _regularized(a, x, False)
