"""The error function in single precision, as few passes over the array as float32 needs."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["erf_single"]

#: erf(x) = tanh(x * q(x * x)), with q a polynomial: the coefficients, from the highest, minimize the largest relative
#: error of erf (9.5e-8). They were found by iteratively reweighted least squares (Lawson, 1961) on 650 points of [0,
#: 4.2].
_Q = (
    1.41851013e-07, -5.66845262e-06, 8.76371739e-05, -6.19784213e-04, -1.91831366e-04, 1.02769056e-01, 1.12837927e00,
)  # fmt: skip


def erf_single(x: Any) -> Any:
    """erf of a float32 array with at least one dimension, within about two units in the last place."""
    square = x * x
    q = square * _Q[0]
    for coefficient in _Q[1:-1]:
        q += coefficient
        q *= square
    q += _Q[-1]
    q *= x
    return np.tanh(q, out=q)
