"""Bessel functions of order 0 and 1, and the Airy function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _tables as tables
from ._evaluate import by_cases, in_double, polynomial, scaled

__all__ = [
    "airy_ai", "i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e", "k1", "k1e", "spherical_j0", "y0", "y1",
]  # fmt: skip


# Modified functions of the first kind


def _i0e(x: Any) -> Any:
    x = np.abs(x)
    return by_cases(
        x,
        (x <= 8, lambda x: polynomial(tables.I0E_0_8, scaled(x, 0, 8))),
        (x > 8, lambda x: polynomial(tables.I0E_8, 16 / x - 1) / np.sqrt(x)),
    )


def _i1e(x: Any) -> Any:
    magnitude = np.abs(x)
    return by_cases(
        x,
        (magnitude <= 8, lambda x: x * polynomial(tables.I1E_0_8, scaled(np.abs(x), 0, 8))),
        (magnitude > 8, lambda x: np.copysign(polynomial(tables.I1E_8, 16 / np.abs(x) - 1) / np.sqrt(np.abs(x)), x)),
    )


i0e, i1e = in_double(_i0e), in_double(_i1e)


@in_double
def i0(x: Any) -> Any:
    return np.exp(np.abs(x)) * _i0e(x)


@in_double
def i1(x: Any) -> Any:
    return np.exp(np.abs(x)) * _i1e(x)


# Modified functions of the second kind, for positive arguments


def _k0_small(x: Any) -> Any:
    return polynomial(tables.K0_0_2, x * x / 2 - 1) - np.log(x / 2) * np.exp(x) * _i0e(x)


def _k1_small(x: Any) -> Any:
    return polynomial(tables.K1_0_2, x * x / 2 - 1) / x + np.log(x / 2) * np.exp(x) * _i1e(x)


def _second_kind(small: Any, table: Any, is_scaled: bool) -> Any:
    def function(x: Any) -> Any:
        return by_cases(
            x,
            (x == 0, lambda x: np.full(x.shape, np.inf)),
            ((x > 0) & (x <= 2), lambda x: small(x) * np.exp(x) if is_scaled else small(x)),
            (x > 2, lambda x: polynomial(table, 4 / x - 1) / np.sqrt(x) * (1 if is_scaled else np.exp(-x))),
        )

    return in_double(function)


k0, k0e = _second_kind(_k0_small, tables.K0E_2, False), _second_kind(_k0_small, tables.K0E_2, True)
k1, k1e = _second_kind(_k1_small, tables.K1E_2, False), _second_kind(_k1_small, tables.K1E_2, True)


# Functions of the first and second kind

_J0_ZEROS = (2.404825557695773, 5.520078110286311)
_J1_ZERO = 3.8317059702075125


def _square(x: Any) -> Any:
    """x in [0, 5] as the variable of the tables in x * x."""
    return scaled(x * x, 0, 25)


def _j0_small(x: Any) -> Any:
    first, second = _J0_ZEROS
    return (x - first) * (x + first) * (x - second) * (x + second) * polynomial(tables.J0_0_5, _square(x))


def _j1_small(x: Any) -> Any:
    return x * (x - _J1_ZERO) * (x + _J1_ZERO) * polynomial(tables.J1_0_5, _square(x))


def _asymptotic(x: Any, p_table: Any, q_table: Any) -> tuple[Any, Any, Any, Any]:
    """Amplitudes P and Q for x > 5, and sine and cosine of x - pi / 4."""
    t = 50 / (x * x) - 1
    sine, cosine = np.sin(x), np.cos(x)
    norm = np.sqrt(1 / (math.pi * x))
    p, q = polynomial(p_table, t) * norm, polynomial(q_table, t) * norm * (5 / x)
    return p, q, sine - cosine, sine + cosine


def _j0_large(x: Any) -> Any:
    p, q, sine, cosine = _asymptotic(x, tables.J0_P, tables.J0_Q)
    return p * cosine - q * sine


def _y0_large(x: Any) -> Any:
    p, q, sine, cosine = _asymptotic(x, tables.J0_P, tables.J0_Q)
    return p * sine + q * cosine


def _j1_large(x: Any) -> Any:
    p, q, sine, cosine = _asymptotic(x, tables.J1_P, tables.J1_Q)
    return p * sine + q * cosine


def _y1_large(x: Any) -> Any:
    p, q, sine, cosine = _asymptotic(x, tables.J1_P, tables.J1_Q)
    return q * sine - p * cosine


@in_double
def j0(x: Any) -> Any:
    x = np.abs(x)
    return by_cases(x, (x <= 5, _j0_small), (x > 5, _j0_large))


@in_double
def j1(x: Any) -> Any:
    magnitude = np.abs(x)
    return by_cases(x, (magnitude <= 5, _j1_small), (magnitude > 5, lambda x: np.sign(x) * _j1_large(np.abs(x))))


def _y0_small(x: Any) -> Any:
    return polynomial(tables.Y0_0_5, _square(x)) - 1 + 2 / math.pi * np.log(x) * _j0_small(x)


def _y1_small(x: Any) -> Any:
    return x * (polynomial(tables.Y1_0_5, _square(x)) - 1) + 2 / math.pi * (np.log(x) * _j1_small(x) - 1 / x)


def _with_pole(small: Any, large: Any) -> Any:
    def function(x: Any) -> Any:
        return by_cases(x, (x == 0, lambda x: np.full(x.shape, -np.inf)), ((x > 0) & (x <= 5), small), (x > 5, large))

    return in_double(function)


y0, y1 = _with_pole(_y0_small, _y0_large), _with_pole(_y1_small, _y1_large)


@in_double
def spherical_j0(x: Any) -> Any:
    """sin(x) / x."""
    return by_cases(
        x,
        (x == 0, lambda x: np.ones(x.shape)),
        (np.isinf(x), lambda x: np.zeros(x.shape)),
        (x == x, lambda x: np.sin(x) / x),
    )


# The Airy function


def _zeta(x: Any) -> Any:
    return 2 / 3 * x * np.sqrt(x)


_ZETA_2, _ZETA_5 = 2 / 3 * 2**1.5, 2 / 3 * 5**1.5


def _airy_decaying(x: Any) -> Any:
    zeta = _zeta(x)
    return (
        np.exp(-zeta)
        * polynomial(tables.AIRY_DECAYING, scaled(1 / zeta, 0, 1 / _ZETA_2))
        / (2 * math.sqrt(math.pi) * x**0.25)
    )


def _airy_oscillating(x: Any) -> Any:
    x = -x
    zeta = _zeta(x)
    t = scaled(zeta**-2.0, 0, _ZETA_5**-2)
    p, q = polynomial(tables.AIRY_P, t), polynomial(tables.AIRY_Q, t) / zeta
    sine, cosine = np.sin(zeta), np.cos(zeta)
    return (p * (sine + cosine) - q * (cosine - sine)) / (math.sqrt(2 * math.pi) * x**0.25)


@in_double
def airy_ai(x: Any) -> Any:
    """Ai; NaN at infinity."""
    return by_cases(
        x,
        (np.isinf(x), lambda x: x * np.nan),
        (x > 2, _airy_decaying),
        (x >= -2, lambda x: polynomial(tables.AIRY_MIDDLE, x / 2) - 1),
        (x >= -5, lambda x: polynomial(tables.AIRY_LOW, scaled(x, -5, -2)) - 1),
        (x < -5, _airy_oscillating),
    )
