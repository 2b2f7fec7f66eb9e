"""Special functions against 17 digits (snapshots/make_special_functions.py), and what holds between them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mt_core.testing.namespace import namespace

torch = namespace()

EXACT = np.load(Path(__file__).parent / "snapshots" / "special_functions.npz")

#: Units in the last place by which a result may differ; 8 unless said here.
UNITS = {
    "special.ndtri": 20,  # far out, the square in its exponent is large
    "igamma": 500,  # the logarithm of a small result is large
    "igammac": 500,
}
#: Functions with zeros, near which only the absolute error is small.
WITH_ZEROS = ("digamma", "lgamma", "special.bessel_", "special.airy_ai", "polygamma 2", "polygamma 6")


def evaluate(name: str, arguments: Any) -> Any:
    if name.startswith("polygamma"):
        return torch.polygamma(int(name.split()[1]), arguments[0])
    owner = torch.special if name.startswith("special.") else torch
    return getattr(owner, name.removeprefix("special."))(*arguments)


@pytest.mark.parametrize("name", EXACT.files)
def test_double_precision_is_exact_to_a_few_units(name: str) -> None:
    *arguments, expected = (torch.from_numpy(np.ascontiguousarray(column)) for column in EXACT[name].T)
    result = evaluate(name, arguments)
    error = (result - expected).abs()
    allowed = UNITS.get(name, 8) * 2.0**-53 * expected.abs()
    if name.startswith(WITH_ZEROS):
        allowed = allowed + 2e-14
    assert (error <= allowed).all(), (arguments, result, expected)


@pytest.mark.parametrize("name", EXACT.files)
def test_single_precision_is_exact_to_its_own(name: str) -> None:
    *arguments, expected = (torch.from_numpy(np.ascontiguousarray(column)) for column in EXACT[name].T)
    in_range = ((expected.abs() < 1e30) & (expected.abs() > 1e-30)).logical_and(arguments[-1].abs().isfinite())
    single = [a.float() for a in arguments]
    shown = evaluate(name, [a.double() for a in single])  # the function of the rounded argument
    close = torch.isclose(evaluate(name, single).double(), shown, rtol=5e-7, atol=1e-9)
    assert (close | ~in_range | ~shown.isfinite()).all()


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("erf", [-math.inf, math.inf], [-1, 1]),
        ("erfc", [-math.inf, math.inf, 30], [2, 0, 0]),
        ("erfinv", [-1, 1, 2, 0], [-math.inf, math.inf, math.nan, 0]),
        ("lgamma", [0, -1, math.inf, -math.inf, 1, 2], [math.inf, math.inf, math.inf, math.inf, 0, 0]),
        ("digamma", [0.0, -0.0, -1, math.inf, -math.inf], [-math.inf, math.inf, math.nan, math.inf, math.nan]),
        ("special.ndtri", [0, 1, -0.1, 0.5], [-math.inf, math.inf, math.nan, 0]),
        ("special.entr", [0, -1, 1, math.inf], [0, -math.inf, 0, -math.inf]),
        ("special.modified_bessel_k0", [0, -1, math.inf], [math.inf, math.nan, 0]),
        ("special.bessel_y0", [0, -1], [-math.inf, math.nan]),
        ("special.spherical_bessel_j0", [0, math.inf], [1, 0]),
        ("sinc", [0], [1]),
    ],
)
def test_at_the_borders_of_the_domain(name: str, at: list[float], expected: list[float]) -> None:
    result = evaluate(name, [torch.tensor([*at, math.nan], dtype=torch.float64)])
    assert torch.equal(result.nan_to_num(7), torch.tensor([*expected, math.nan], dtype=torch.float64).nan_to_num(7))


@pytest.mark.parametrize(
    ("a", "x", "p"),
    [(0, 1, 1), (1, 0, 0), (0, 0, math.nan), (-1, 1, math.nan), (1, -1, math.nan), (math.inf, 1, 0), (1, math.inf, 1)],
)
def test_incomplete_gamma_functions_at_the_borders(a: float, x: float, p: float) -> None:
    a, x = torch.tensor([float(a)]), torch.tensor([float(x)])
    assert torch.igamma(a, x).item() == pytest.approx(p, nan_ok=True)
    assert torch.igammac(a, x).item() == pytest.approx(1 - p, nan_ok=True)


positive = st.floats(0.01, 150)


def number(value: float) -> Any:
    return torch.tensor([value], dtype=torch.float64)


@given(st.floats(-5, 5))
def test_the_inverse_of_erf_undoes_it(x: float) -> None:
    y = torch.erf(number(x))
    if abs(x) < 3:
        assert torch.erfinv(y).item() == pytest.approx(x, rel=1e-11, abs=1e-15)
    assert (y + torch.erfc(number(x))).item() == pytest.approx(1)


@given(positive)
def test_recurrences_of_the_gamma_function(x: float) -> None:
    here, there = number(x), number(x + 1)
    assert (torch.lgamma(there) - torch.lgamma(here)).item() == pytest.approx(math.log(x), abs=1e-12)
    assert (torch.digamma(there) - torch.digamma(here)).item() == pytest.approx(1 / x)
    assert (torch.polygamma(1, here) - torch.polygamma(1, there)).item() == pytest.approx(1 / x**2)


@given(positive)
def test_wronskians_of_the_bessel_functions(x: float) -> None:
    at, special = number(x), torch.special
    j0, j1, y0, y1 = special.bessel_j0(at), special.bessel_j1(at), special.bessel_y0(at), special.bessel_y1(at)
    assert (j1 * y0 - j0 * y1).item() == pytest.approx(2 / (math.pi * x))
    i0, i1 = special.i0e(at), special.i1e(at)
    k0, k1 = special.scaled_modified_bessel_k0(at), special.scaled_modified_bessel_k1(at)
    assert (i0 * k1 + i1 * k0).item() == pytest.approx(1 / x)


@given(positive, positive)
def test_the_incomplete_gamma_functions_complete_each_other(a: float, x: float) -> None:
    assert (torch.igamma(number(a), number(x)) + torch.igammac(number(a), number(x))).item() == pytest.approx(1)


@given(st.floats(-1, 1), st.integers(0, 40))
def test_chebyshev_polynomials_are_those_of_the_cosine(x: float, n: int) -> None:
    at = number(x)
    t = torch.special.chebyshev_polynomial_t(at, n).item()
    assert t == pytest.approx(math.cos(n * math.acos(x)), abs=1e-11)
    if n > 1:
        u = torch.special.chebyshev_polynomial_u(at, n).item() - torch.special.chebyshev_polynomial_u(at, n - 2).item()
        # sin((n + 1) a) / sin(a), which PyTorch computes too, turns the rounding of a into that much near the ends.
        rounding = (n + 1) * 2.0**-51 / math.sqrt(1 - x * x) if abs(x) < 1 else 0
        assert u / 2 == pytest.approx(t, abs=1e-11 + rounding)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 10, 40])
@pytest.mark.parametrize("bits", [3, 20, 40, 52, 53])
def test_chebyshev_polynomials_of_the_third_and_fourth_kind_mirror_each_other(n: int, bits: int) -> None:
    """V_n(x) is (-1)^n W_n(-x), and at the ends to all digits: PyTorch's formula has a limit of its own there."""
    x = -1 + 2.0**-bits
    v = torch.special.chebyshev_polynomial_v(number(x), n).item()
    w = torch.special.chebyshev_polynomial_w(number(-x), n).item()
    condition = 0 if bits == 53 or n <= 8 else (n + 1) * 2.0**-51 / math.sqrt(1 - x * x)
    assert v == pytest.approx((-1) ** n * w, rel=1e-13 + condition)


@pytest.mark.parametrize(
    ("name", "n", "expected"),
    [
        ("hermite_polynomial_h", 3, lambda x: 8 * x**3 - 12 * x),
        ("hermite_polynomial_he", 4, lambda x: x**4 - 6 * x**2 + 3),
        ("laguerre_polynomial_l", 3, lambda x: (-(x**3) + 9 * x**2 - 18 * x + 6) / 6),
        ("legendre_polynomial_p", 4, lambda x: (35 * x**4 - 30 * x**2 + 3) / 8),
        ("shifted_chebyshev_polynomial_t", 2, lambda x: 8 * x**2 - 8 * x + 1),
        ("chebyshev_polynomial_v", 2, lambda x: 4 * x**2 - 2 * x - 1),
        ("chebyshev_polynomial_w", 2, lambda x: 4 * x**2 + 2 * x - 1),
        ("chebyshev_polynomial_t", -1, lambda x: 0 * x),
    ],
)
def test_orthogonal_polynomials(name: str, n: int, expected: Any) -> None:
    x = torch.tensor([-2.0, -1.0, -0.4, 0.0, 0.7, 1.0, 3.0], dtype=torch.float64)
    assert torch.allclose(getattr(torch.special, name)(x, n), expected(x), atol=1e-12)


def test_polynomials_that_leave_the_range_end() -> None:
    result = torch.special.chebyshev_polynomial_t(torch.tensor([1.5, 0.5]), torch.tensor([1e6, 1e6]))
    assert not result[0].isfinite() and result[1].abs() <= 1
