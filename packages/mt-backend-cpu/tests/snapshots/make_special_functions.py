"""Record in `special_functions.npz` special functions to 17 digits: ``make_special_functions.py [--check]``.

The numbers come from ``mpmath``, which computes them to 40 digits: PyTorch's own are less exact than what is tested.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import mpmath as mp
import numpy as np

TARGET = Path(__file__).with_name("special_functions.npz")
mp.mp.dps = 40
Function = Callable[..., mp.mpf]

ANY = [
    -30.5,
    -12.25,
    -7.5,
    -4.75,
    -2.6,
    -1.3,
    -0.7,
    -0.2,
    -1e-8,
    1e-12,
    0.05,
    0.3,
    0.9,
    1.7,
    2.5,
    4.9,
    5.1,
    8.5,
    14.0,
    26.0,
]
POSITIVE = [
    1e-300,
    1e-9,
    0.02,
    0.3,
    0.5,
    0.97,
    1.03,
    1.46,
    1.8,
    2.2,
    2.5,
    3.7,
    5.0,
    7.9,
    8.1,
    10.0,
    42.5,
    600.0,
    1e6,
    1e200,
]
UP_TO_600 = [x for x in POSITIVE if x <= 600]
FRACTIONS = [1e-300, 1e-30, 1e-5, 0.02, 0.2, 0.25, 0.3, 0.45, 0.55, 0.7, 0.9, 0.999, 1 - 1e-9]


def ndtri(p: mp.mpf) -> mp.mpf:
    return -mp.sqrt(2) * mp.erfinv(1 - 2 * p) if p > 1e-6 else _ndtri_tail(p)


def _ndtri_tail(p: mp.mpf) -> mp.mpf:
    x = -mp.sqrt(-2 * mp.log(p))
    for _ in range(20):
        x -= mp.log(mp.ncdf(x) / p) * mp.ncdf(x) / mp.npdf(x)
    return x


def bessel(function: Function, order: int, scale: Function = lambda x: mp.mpf(1)) -> Function:
    return lambda x: function(order, x) * scale(x)


def lower(a: mp.mpf, x: mp.mpf) -> mp.mpf:
    return mp.gammainc(a, 0, x, regularized=True)


def upper(a: mp.mpf, x: mp.mpf) -> mp.mpf:
    return mp.gammainc(a, x, mp.inf, regularized=True)


#: (a, x) of the incomplete gamma functions: every method, and both sides of their borders.
PAIRS = [
    (1e-9, 0.5), (0.3, 1e-6), (0.3, 1.05), (0.3, 4.0), (2.5, 0.4), (2.5, 9.0), (11.9, 12.0), (12.5, 12.0), (40.0, 15.0),
    (40.0, 17.0), (40.0, 87.0), (40.0, 89.0), (200.0, 201.0), (200.0, 260.0),
]  # fmt: skip
ORDERS = [(2.0, 0.1), (2.0, 9.5), (1.1, 3.0), (3.5, 0.7), (12.0, 2.0), (2.0, 40.0)]

CASES: dict[str, tuple[Function, list[float]] | tuple[Function, list[tuple[float, float]]]] = {
    "erf": (mp.erf, ANY),
    "erfc": (mp.erfc, [x for x in ANY if x < 26.5]),
    "special.erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), [x for x in ANY if x > -26]),
    "erfinv": (mp.erfinv, [*FRACTIONS, -0.3, -0.99]),
    "special.ndtri": (ndtri, FRACTIONS),
    "special.log_ndtr": (lambda x: mp.log1p(-mp.ncdf(-x)) if x > 0 else mp.log(mp.ncdf(x)), ANY),
    "lgamma": (
        lambda x: mp.log(abs(mp.gamma(x))) if x < 1e6 else mp.loggamma(x),
        [*POSITIVE, -0.3, -1.7, -4.5, -30.25],
    ),
    "digamma": (mp.digamma, [*POSITIVE, -0.3, -1.7, -4.5, -30.25]),
    "i0": (bessel(mp.besseli, 0), ANY),
    "special.i0e": (bessel(mp.besseli, 0, lambda x: mp.exp(-abs(x))), ANY),
    "special.i1": (bessel(mp.besseli, 1), ANY),
    "special.i1e": (bessel(mp.besseli, 1, lambda x: mp.exp(-abs(x))), ANY),
    "special.bessel_j0": (bessel(mp.besselj, 0), ANY),
    "special.bessel_j1": (bessel(mp.besselj, 1), ANY),
    "special.bessel_y0": (bessel(mp.bessely, 0), UP_TO_600),
    "special.bessel_y1": (bessel(mp.bessely, 1), UP_TO_600[1:]),
    "special.modified_bessel_k0": (bessel(mp.besselk, 0), UP_TO_600),
    "special.modified_bessel_k1": (bessel(mp.besselk, 1), UP_TO_600),
    "special.scaled_modified_bessel_k0": (bessel(mp.besselk, 0, mp.exp), UP_TO_600),
    "special.scaled_modified_bessel_k1": (bessel(mp.besselk, 1, mp.exp), UP_TO_600),
    "special.airy_ai": (mp.airyai, ANY),
    "igamma": (lower, PAIRS),
    "igammac": (upper, PAIRS),
    "special.zeta": (mp.zeta, ORDERS),
    **{
        f"polygamma {n}": (lambda x, n=n: mp.polygamma(n, x), [0.01, 0.3, 1.0, 4.5, 30.0, -0.4, -3.6])
        for n in (1, 2, 3, 6)
    },
}


def record() -> dict[str, np.ndarray]:
    made = {}
    for name, (function, points) in CASES.items():
        arguments = np.array(points, float).reshape(len(points), -1)
        values = [float(mp.re(function(*[mp.mpf(float(v)) for v in row]))) for row in arguments]
        made[name] = np.column_stack([arguments, values])
    return made


def main() -> int:
    made = record()
    if "--check" not in sys.argv:
        np.savez_compressed(TARGET, **made)
        return 0
    stored = np.load(TARGET)
    return int(not all(np.array_equal(made[k], stored[k]) for k in made))


if __name__ == "__main__":
    sys.exit(main())
