"""``python tools/fit_special_functions.py``: compute the polynomials behind `mt_backend_cpu.special_functions`.

Needs ``mpmath``. Each function is interpolated in Chebyshev points by 60-digit arithmetic, in a variable t that runs
through [-1, 1], with a factor taken out so that what remains is smooth and nowhere zero; the polynomial gets the lowest
degree whose relative error stays below 2**-55. Running this prints that error and rewrites ``_tables.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mpmath as mp

TARGET = Path(__file__).resolve().parents[1] / "packages/mt-backend-cpu/src/mt_backend_cpu/special_functions/_tables.py"
mp.mp.dps = 60
TOLERANCE = mp.mpf(2) ** -55
Function = Callable[[mp.mpf], mp.mpf]


def chebyshev_coefficients(f: Function, degree: int) -> list[mp.mpf]:
    """Of the interpolating polynomial in Chebyshev points of the first kind."""
    n = degree + 1
    angles = [mp.pi * (2 * k + 1) / (2 * n) for k in range(n)]
    values = [f(mp.cos(a)) for a in angles]
    coefficients = [2 * mp.fsum(v * mp.cos(j * a) for v, a in zip(values, angles, strict=True)) / n for j in range(n)]
    coefficients[0] /= 2
    return coefficients


def monomials(chebyshev: list[mp.mpf]) -> list[mp.mpf]:
    """The same polynomial in powers of t, lowest first."""
    previous, current = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    total = [mp.mpf(0)] * len(chebyshev)
    for j, c in enumerate(chebyshev):
        basis = previous if j == 0 else current
        for i, b in enumerate(basis):
            total[i] += c * b
        if j:
            following = [mp.mpf(0)] + [2 * b for b in current]
            for i, b in enumerate(previous):
                following[i] -= b
            previous, current = current, following
    return total


def fit(f: Function) -> tuple[list[mp.mpf], mp.mpf]:
    """Powers of t, highest first, and the largest relative error."""
    coefficients = chebyshev_coefficients(f, 44)
    scale = min(abs(f(mp.mpf(k) / 40)) for k in range(-40, 41))
    degree = max(j for j, c in enumerate(coefficients) if abs(c) > TOLERANCE * scale / 4)
    powers = monomials(chebyshev_coefficients(f, degree))[::-1]
    points = [mp.mpf(k) / 300 for k in range(-300, 301)]
    return powers, max(abs(mp.polyval(powers, t) / f(t) - 1) for t in points)


def on(low: float, high: float, f: Function) -> Function:
    """`f` of x in [low, high] as a function of t."""
    centre, half = (mp.mpf(low) + mp.mpf(high)) / 2, (mp.mpf(high) - mp.mpf(low)) / 2
    return lambda t: f(centre + half * t)


def erfcx(x: mp.mpf) -> mp.mpf:
    return mp.exp(x * x) * mp.erfc(x) if x < 10**12 else 1 / (mp.sqrt(mp.pi) * x)


def of_erfcx(t: mp.mpf) -> mp.mpf:
    """(1 + 2x) erfcx(x) with x = 3.75 (1 + t) / (1 - t) (Shepherd and Laframboise, 1981)."""
    if t == 1:
        return 2 / mp.sqrt(mp.pi)
    x = mp.mpf("3.75") * (1 + t) / (1 - t)
    return (1 + 2 * x) * erfcx(x)


def removable(f: Function, zero: float) -> Function:
    """f(x) / (x - zero), continued into the zero."""

    def quotient(x: mp.mpf) -> mp.mpf:
        return f(x) / (x - zero) if x != zero else mp.diff(f, zero)

    return quotient


def inverse(scale: float, f: Function) -> Function:
    """f of x = 2 * scale / (1 + t), which runs from infinity down to `scale`; t = -1 is approached, not reached."""
    return lambda t: f(2 * mp.mpf(scale) / (1 + t) if t > -1 else mp.mpf(10) ** 25)


def bessel_sides(order: int) -> tuple[Function, Function]:
    """P and Q of J = sqrt(2 / (pi x)) (P cos(w) - 5 / x Q sin(w)), w = x - (2 order + 1) pi / 4, as functions of x."""

    def both(x: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
        w = x - (2 * order + 1) * mp.pi / 4
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        norm = mp.sqrt(mp.pi * x / 2)
        return norm * (j * mp.cos(w) + y * mp.sin(w)), norm * (y * mp.cos(w) - j * mp.sin(w))

    def p(x: mp.mpf) -> mp.mpf:
        return both(x)[0] if x < 10**6 else mp.mpf(1)

    def q(x: mp.mpf) -> mp.mpf:
        return both(x)[1] * x / 5 if x < 10**6 else mp.mpf(4 * order * order - 1) / 40

    return p, q


def inverse_square(scale: float, f: Function) -> Function:
    """f of x with (scale / x)**2 = (1 + t) / 2."""
    return lambda t: f(mp.mpf(scale) / mp.sqrt((1 + t) / 2) if t > -1 else mp.mpf(10) ** 25)


def of_square(low: float, high: float, f: Function) -> Function:
    """f of x >= 0 as a function of t, with x * x in [low, high]."""
    return on(low, high, lambda z: f(mp.sqrt(z)))


def zeros_removed(f: Function, zeros: list[mp.mpf]) -> Function:
    """f(x) / prod(x*x - zero*zero)."""

    def quotient(x: mp.mpf) -> mp.mpf:
        for zero in zeros:
            if abs(x - zero) < mp.mpf(10) ** -25:
                x += mp.mpf(10) ** -20
        return f(x) / mp.fprod(x * x - zero * zero for zero in zeros)

    return quotient


def airy_zeta(x: mp.mpf) -> mp.mpf:
    return 2 * abs(x) ** (mp.mpf(3) / 2) / 3


def airy_decaying(z: mp.mpf) -> mp.mpf:
    """Ai(x) 2 sqrt(pi) x**(1/4) exp(zeta) as a function of 1 / zeta."""
    if z == 0:
        return mp.mpf(1)
    x = (3 / (2 * z)) ** (mp.mpf(2) / 3)
    return mp.airyai(x) * 2 * mp.sqrt(mp.pi) * x ** mp.mpf("0.25") * mp.exp(1 / z)


def airy_oscillating(z: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    """P and zeta Q, functions of 1/zeta**2.

    They stand in Ai(-x) = (P sin(zeta + pi/4) - Q cos(zeta + pi/4)) / (sqrt(pi) x**(1/4)).
    """
    if z < mp.mpf(10) ** -12:
        return mp.mpf(1), mp.mpf(5) / 72
    zeta = 1 / mp.sqrt(z)
    x = (3 * zeta / 2) ** (mp.mpf(2) / 3)
    angle, norm = zeta + mp.pi / 4, mp.sqrt(mp.pi) * x ** mp.mpf("0.25")
    a, b = mp.airyai(-x) * norm, mp.airybi(-x) * norm
    return a * mp.sin(angle) + b * mp.cos(angle), (b * mp.sin(angle) - a * mp.cos(angle)) * zeta


def tables() -> dict[str, tuple[str, Function]]:
    """Name -> (what the polynomial in t is, the function of t)."""
    p0, q0 = bessel_sides(0)
    p1, q1 = bessel_sides(1)
    zeros0 = [mp.besseljzero(0, k) for k in (1, 2)]
    zeros1 = [mp.besseljzero(1, 1)]
    euler = mp.euler
    return {
        "ERF": ("erf(x) / x, x*x in [0, 1]", of_square(0, 1, lambda x: mp.erf(x) / x if x else 2 / mp.sqrt(mp.pi))),
        "ERFCX": ("(1 + 2x) erfcx(x), t = (x - 3.75) / (x + 3.75)", of_erfcx),
        "LGAMMA_AT_1": ("lgamma(x) / (x - 1), x in [0.5, 1.5]", on(0.5, 1.5, removable(mp.loggamma, 1))),
        "LGAMMA_AT_2": ("lgamma(x) / (x - 2), x in [1.5, 2.5]", on(1.5, 2.5, removable(mp.loggamma, 2))),
        "LGAMMA_2_5": ("lgamma(x), x in [2.5, 5]", on(2.5, 5, mp.loggamma)),
        "LGAMMA_5_10": ("lgamma(x), x in [5, 10]", on(5, 10, mp.loggamma)),
        "I0E_0_8": ("exp(-x) I0(x), x in [0, 8]", on(0, 8, lambda x: mp.exp(-x) * mp.besseli(0, x))),
        "I0E_8": ("sqrt(x) exp(-x) I0(x), t = 16 / x - 1", inverse(8, lambda x: scaled_i(0, x))),
        "I1E_0_8": (
            "exp(-x) I1(x) / x, x in [0, 8]",
            on(0, 8, lambda x: mp.exp(-x) * (mp.besseli(1, x) / x if x else mp.mpf(1) / 2)),
        ),
        "I1E_8": ("sqrt(x) exp(-x) I1(x), t = 16 / x - 1", inverse(8, lambda x: scaled_i(1, x))),
        "K0_0_2": (
            "K0(x) + log(x / 2) I0(x), x*x in [0, 4]",
            of_square(0, 4, lambda x: mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x) if x else -euler),
        ),
        "K0E_2": ("sqrt(x) exp(x) K0(x), t = 4 / x - 1", inverse(2, lambda x: scaled_k(0, x))),
        "K1_0_2": (
            "x (K1(x) - log(x / 2) I1(x)), x*x in [0, 4]",
            of_square(0, 4, lambda x: x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x)) if x else mp.mpf(1)),
        ),
        "K1E_2": ("sqrt(x) exp(x) K1(x), t = 4 / x - 1", inverse(2, lambda x: scaled_k(1, x))),
        "J0_0_5": (
            "J0(x) / ((x*x - z1*z1) (x*x - z2*z2)) with its zeros z1, z2; x*x in [0, 25]",
            of_square(0, 25, zeros_removed(lambda x: mp.besselj(0, x), zeros0)),
        ),
        "J0_P": ("P of J0 and Y0, t = 50 / (x*x) - 1", inverse_square(5, p0)),
        "J0_Q": ("Q of J0 and Y0, t = 50 / (x*x) - 1", inverse_square(5, q0)),
        "J1_0_5": (
            "J1(x) / (x (x*x - z1*z1)), x*x in [0, 25]",
            of_square(0, 25, zeros_removed(lambda x: mp.besselj(1, x) / x if x else mp.mpf(1) / 2, zeros1)),
        ),
        "J1_P": ("P of J1 and Y1, t = 50 / (x*x) - 1", inverse_square(5, p1)),
        "J1_Q": ("Q of J1 and Y1, t = 50 / (x*x) - 1", inverse_square(5, q1)),
        "Y0_0_5": (
            "Y0(x) - 2 / pi log(x) J0(x) + 1, x*x in [0, 25]",
            of_square(
                0,
                25,
                lambda x: (
                    mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x) + 1
                    if x
                    else 2 / mp.pi * (euler - mp.log(2)) + 1
                ),
            ),
        ),
        "Y1_0_5": (
            "(Y1(x) - 2 / pi (log(x) J1(x) - 1 / x)) / x + 1, x*x in [0, 25]",
            of_square(
                0,
                25,
                lambda x: (
                    (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x + 1
                    if x > 1e-10
                    else (2 * euler - 2 * mp.log(2) - 1) / (2 * mp.pi) + 1
                ),
            ),
        ),
        "AIRY_MIDDLE": ("Ai(x) + 1, x in [-2, 2]", on(-2, 2, lambda x: mp.airyai(x) + 1)),
        "AIRY_LOW": ("Ai(x) + 1, x in [-5, -2]", on(-5, -2, lambda x: mp.airyai(x) + 1)),
        "AIRY_DECAYING": (
            "2 sqrt(pi) x**(1/4) exp(zeta) Ai(x), 1 / zeta in [0, 1 / zeta(2)]",
            on(0, 1 / airy_zeta(mp.mpf(2)), airy_decaying),
        ),
        "AIRY_P": (
            "P of Ai(-x), zeta**-2 in [0, zeta(5)**-2]",
            on(0, airy_zeta(mp.mpf(5)) ** -2, lambda z: airy_oscillating(z)[0]),
        ),
        "AIRY_Q": (
            "zeta Q of Ai(-x), zeta**-2 in [0, zeta(5)**-2]",
            on(0, airy_zeta(mp.mpf(5)) ** -2, lambda z: airy_oscillating(z)[1]),
        ),
    }


def scaled_i(order: int, x: mp.mpf) -> mp.mpf:
    return mp.sqrt(x) * mp.exp(-x) * mp.besseli(order, x) if x < 10**6 else 1 / mp.sqrt(2 * mp.pi)


def scaled_k(order: int, x: mp.mpf) -> mp.mpf:
    return mp.sqrt(x) * mp.exp(x) * mp.besselk(order, x) if x < 10**6 else mp.sqrt(mp.pi / 2)


HEADER = '''"""Polynomials of special functions: powers of t in [-1, 1], highest first.

Computed by ``tools/fit_special_functions.py``; do not edit.
"""

# ruff: noqa
# fmt: off
'''


def main() -> None:
    parts = [HEADER]
    for name, (what, f) in tables().items():
        powers, error = fit(f)
        print(f"{name:16} degree {len(powers) - 1:2}  relative error {mp.nstr(error, 2)}", flush=True)
        numbers = ",\n    ".join(repr(float(c)) for c in powers)
        parts.append(f"#: {what}\n{name} = (\n    {numbers},\n)\n")
    TARGET.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
