"""Orthogonal polynomials by their three-term recurrences, in the dtype of the argument.

The degree may differ from element to element. Inside [-1, 1] Chebyshev polynomials of higher degree are computed from
the angle, whose cosine the argument is: T is cos(n a), U is sin((n + 1) a) / sin(a), V is cos((n + 1/2) a) / cos(a / 2)
and W is sin((n + 1/2) a) / sin(a / 2) (Mason and Handscomb, Chebyshev Polynomials, 2003).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["FUNCTIONS"]

Function = Callable[..., Any]


def _by_recurrence(x: Any, n: Any, first: Function, following: Function) -> Any:
    """Degrees n of the sequence 1, first(x), following(x, k, p[k], p[k - 1]), ...; 0 for negative degrees."""
    before, current = np.ones_like(x), first(x)
    result = np.where(n == 0, before, np.where(n == 1, current, 0)).astype(x.dtype)
    for k in range(1, int(np.max(n, initial=0))):
        before, current = current, following(x, k, current, before)
        result = np.where(n == k + 1, current, result)
        if k % 64 == 0:  # what has left the dtype's range does not come back
            waiting = n > k + 1
            if not np.any(waiting & np.isfinite(current)):
                return np.where(waiting, x.dtype.type(np.nan), result)
    return result


def _degrees(n: Any) -> Any:
    return np.trunc(np.where(np.isfinite(n), n, -1)).astype(np.int64)


def _polynomial(first: Function, following: Function, at_ends: Function | None = None) -> Function:
    """A function of (x, n) from its recurrence; `at_ends` gives its values where abs(x) is 1."""

    def function(x: Any, n: Any) -> Any:
        x, n = np.broadcast_arrays(np.asarray(x), np.asarray(n))
        n = _degrees(n)
        ends = np.abs(x) == 1
        result = _by_recurrence(x, np.where(ends, 0, n) if at_ends is not None else n, first, following)
        return (
            result
            if at_ends is None
            else np.where(ends & (n >= 0), at_ends(x, n), np.where(n < 0, 0, result)).astype(x.dtype)
        )

    return function


def _chebyshev(low_degree: int, first: Function, by_angle: Function, at_ends: Function) -> Function:
    """One of the four kinds: all satisfy p[k + 1] = 2 x p[k] - p[k - 1].

    Degrees up to `low_degree` are computed by that recurrence everywhere, higher ones by the angle where there is one.
    """
    plain = _polynomial(first, lambda x, k, current, before: 2 * x * current - before, at_ends)

    def function(x: Any, n: Any) -> Any:
        x, n = np.broadcast_arrays(np.asarray(x), np.asarray(n))
        inside = (np.abs(x) < 1) & (_degrees(n) > low_degree)
        angle = np.arccos(np.where(inside, x, 0))
        values: Any = np.where(inside, by_angle(angle, np.trunc(n)), plain(x, np.where(inside, 0, n)))
        return values.astype(x.dtype)

    return function


def _alternating(x: Any, n: Any) -> Any:
    """1 at x = 1, and (-1) ** n at x = -1."""
    return np.where((x > 0) | (n % 2 == 0), 1, -1)


def _third_kind(a: Any, n: Any) -> Any:
    """cos((n + 1/2) a) / cos(a / 2); its limit where a is pi to all digits of sin(a / 2), and the quotient has none."""
    quotient = np.cos((n + 0.5) * a) / np.cos(a / 2)
    return np.where(np.sin(a / 2) == 1, _alternating(-1, n) * (2 * n + 1), quotient)


#: First degree, value by the angle, and value at the ends, of each kind.
_T = (lambda x: x.copy(), lambda a, n: np.cos(n * a), _alternating)
_U = (
    lambda x: 2 * x,
    lambda a, n: np.sin((n + 1) * a) / np.sin(a),
    lambda x, n: _alternating(x, n) * (n + 1),
)
_V = (
    lambda x: 2 * x - 1,
    _third_kind,
    lambda x, n: np.where(x > 0, 1, _alternating(x, n) * (2 * n + 1)),
)
_W = (
    lambda x: 2 * x + 1,
    lambda a, n: np.sin((n + 0.5) * a) / np.sin(a / 2),
    lambda x, n: np.where(x > 0, 2 * n + 1, _alternating(x, n)),
)


def _shifted(function: Function) -> Function:
    return lambda x, n: function(2 * x - 1, n)


#: Name in ``torch.special`` -> function of (x, n); the low degrees are PyTorch's.
FUNCTIONS: dict[str, Function] = {
    "chebyshev_polynomial_t": _chebyshev(6, *_T),
    "chebyshev_polynomial_u": _chebyshev(8, *_U),
    "chebyshev_polynomial_v": _chebyshev(8, *_V),
    "chebyshev_polynomial_w": _chebyshev(8, *_W),
    "shifted_chebyshev_polynomial_t": _shifted(_chebyshev(6, *_T)),
    "shifted_chebyshev_polynomial_u": _shifted(_chebyshev(6, *_U)),
    "shifted_chebyshev_polynomial_v": _shifted(_chebyshev(6, *_V)),
    "shifted_chebyshev_polynomial_w": _shifted(_chebyshev(8, *_W)),
    "hermite_polynomial_h": _polynomial(
        lambda x: 2 * x, lambda x, k, current, before: 2 * x * current - 2 * k * before
    ),
    "hermite_polynomial_he": _polynomial(lambda x: x.copy(), lambda x, k, current, before: x * current - k * before),
    "laguerre_polynomial_l": _polynomial(
        lambda x: 1 - x, lambda x, k, current, before: ((2 * k + 1 - x) * current - k * before) / (k + 1)
    ),
    "legendre_polynomial_p": _polynomial(
        lambda x: x.copy(),
        lambda x, k, current, before: ((2 * k + 1) * x * current - k * before) / (k + 1),
        _alternating,
    ),
}
