"""``python tools/fit_native_math.py``: compute the polynomials of the native library's functions of single precision.

Each is interpolated in Chebyshev points, in double precision, in the variable that its loop runs over; running this
prints the error of the function made of it and rewrites ``native/kernels/math_polynomials.inc``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.polynomial import chebyshev, polynomial

TARGET = Path(__file__).resolve().parents[1] / "packages/mt-backend-cpu/native/kernels/math_polynomials.inc"
Function = Callable[[float], float]


def fit(f: Function, weight: Function, low: float, high: float, degree: int) -> tuple[np.ndarray, float]:
    """The polynomial of least maximal weighted error on [low, high], by iteratively reweighted least squares.

    Returns its coefficients from the highest, rounded to single precision, and that error.
    """
    centre, half = (low + high) / 2, (high - low) / 2
    t = np.cos(np.linspace(0, math.pi, 801))
    points = centre + half * t
    wanted = np.array([f(float(x)) for x in points])
    scale = np.array([weight(float(x)) for x in points])
    basis = chebyshev.chebvander(t, degree)
    lawson = np.ones(len(t))
    best: tuple[float, np.ndarray] = (math.inf, np.zeros(degree + 1))
    for _ in range(400):
        factor = np.sqrt(lawson) * scale
        found = np.linalg.lstsq(basis * factor[:, None], wanted * factor, rcond=None)[0]
        errors = np.abs(basis @ found - wanted) * scale
        if errors.max() < best[0]:
            best = float(errors.max()), found
        lawson *= errors / errors.max() + 1e-9
        lawson /= lawson.max()
    powers = polynomial.Polynomial(chebyshev.cheb2poly(best[1]))(polynomial.Polynomial([-centre / half, 1 / half])).coef
    return np.asarray(powers[::-1], np.float32), best[0]


def _series(terms: Callable[[int], float], first: int, x: float) -> float:
    return math.fsum(terms(k) * x ** (k - first) for k in range(first, first + 24))


def exp_remainder(r: float) -> float:
    """(e^r - 1 - r) / r^2."""
    return _series(lambda k: 1 / math.factorial(k), 2, r)


def tanh_remainder(square: float) -> float:
    """(tanh x - x) / x^3 of x^2."""
    x = math.sqrt(square)
    return (math.tanh(x) - x) / x**3 if x > 0.02 else -1 / 3 + square * 2 / 15 - square**2 * 17 / 315


def erf_remainder(square: float) -> float:
    """(erf x - x) / x of x^2."""
    x = math.sqrt(square)
    return math.erf(x) / x - 1 if x > 1e-6 else 2 / math.sqrt(math.pi) - 1


def log_erfc(x: float) -> float:
    return math.log(math.erfc(x))


def log_remainder(f: float) -> float:
    """(log(1 + f) - f + f^2 / 2) / f^3."""
    if abs(f) < 0.02:
        return _series(lambda k: (-1) ** (k + 1) / k, 3, f)
    return (math.log1p(f) - f + f * f / 2) / f**3


#: Name -> (comment, function, weight of its error, low, high, degree).
POLYNOMIALS: dict[str, tuple[str, Function, Function, float, float, int]] = {
    "EXP": ("(e^r - 1 - r) / r^2 for |r| <= ln(2) / 2", exp_remainder, lambda r: r * r, -0.3466, 0.3466, 4),
    "TANH": ("(tanh x - x) / x^3 of x^2 for |x| <= 0.625", tanh_remainder, lambda s: s, 0.0, 0.390625, 4),
    "ERF": ("(erf x - x) / x of x^2 for |x| <= 1", erf_remainder, lambda s: 1.0, 0.0, 1.0, 6),
    "ERFC": ("log(erfc x) for 1 <= x <= 4", log_erfc, math.erfc, 1.0, 4.0, 7),
    "LOG": (
        "(log(1 + f) - f + f^2 / 2) / f^3 for sqrt(1/2) <= 1 + f <= sqrt(2)", log_remainder, lambda f: f * f,
        -0.29290, 0.41422, 8,
    ),
}  # fmt: skip


def main() -> None:
    lines = ["// Written by tools/fit_native_math.py. Coefficients stand from the highest power on.", ""]
    for name, (comment, f, weight, low, high, degree) in POLYNOMIALS.items():
        found, error = fit(f, weight, low, high, degree)
        print(f"{name}: degree {degree}, largest relative error by the polynomial {error:.2e}")
        numbers = ", ".join(f"{float(c):.9g}f".replace("e-0", "e-") for c in found)
        lines += [f"// {comment}", f"constexpr int {name}_TERMS = {degree + 1};"]
        lines += [f"constexpr float {name}[{name}_TERMS] = {{{numbers}}};", ""]
    lines += ["constexpr float TANH_NEAR = 0.625f;", ""]
    TARGET.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
