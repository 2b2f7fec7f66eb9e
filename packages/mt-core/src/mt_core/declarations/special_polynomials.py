"""Orthogonal polynomials: declarations."""

from __future__ import annotations

from ..promotion import FLOAT
from ._checks import Supported
from .special import _WIDE, family

POLYNOMIALS = {
    "chebyshev_polynomial_t": "Chebyshev polynomial of the first kind",
    "chebyshev_polynomial_u": "Chebyshev polynomial of the second kind",
    "chebyshev_polynomial_v": "Chebyshev polynomial of the third kind",
    "chebyshev_polynomial_w": "Chebyshev polynomial of the fourth kind",
    "shifted_chebyshev_polynomial_t": "Chebyshev polynomial of the first kind of 2x - 1",
    "shifted_chebyshev_polynomial_u": "Chebyshev polynomial of the second kind of 2x - 1",
    "shifted_chebyshev_polynomial_v": "Chebyshev polynomial of the third kind of 2x - 1",
    "shifted_chebyshev_polynomial_w": "Chebyshev polynomial of the fourth kind of 2x - 1",
    "hermite_polynomial_h": "Physicist's Hermite polynomial",
    "hermite_polynomial_he": "Probabilist's Hermite polynomial",
    "laguerre_polynomial_l": "Laguerre polynomial",
    "legendre_polynomial_p": "Legendre polynomial",
}
for _name, _doc in POLYNOMIALS.items():
    for _overload, _arguments in (
        ("", "Tensor x, Tensor n"),
        (".x_scalar", "Scalar x, Tensor n"),
        (".n_scalar", "Tensor x, Scalar n"),
    ):
        family.elementwise(
            f"special_{_name}{_overload}({_arguments}) -> Tensor",
            promotion=FLOAT, promotes="x n", namespace="torch.special", python_name=_name, variants="function", out=True,
            check=Supported(f"{_name}_cpu", _WIDE), doc="" if _overload else f"{_doc} of degree n; 0 for a negative degree.",
        )  # fmt: skip
