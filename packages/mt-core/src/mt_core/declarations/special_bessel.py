"""Bessel and Airy functions: declarations."""

from __future__ import annotations

from .special import _REAL, _special, _unary

_unary("i0", "i0_vml_cpu", "Modified Bessel function of the first kind, order 0.")
_special("i0e", "i0e_cpu", "exp(-abs(self)) * i0(self).", _REAL)
_special("i1", "i1_cpu", "Modified Bessel function of the first kind, order 1.", _REAL)
_special("i1e", "i1e_cpu", "exp(-abs(self)) * i1(self).", _REAL)
for _order in "01":
    _special(f"bessel_j{_order}", f"bessel_j{_order}_cpu", f"Bessel function of the first kind, order {_order}.")
    _special(f"bessel_y{_order}", f"bessel_y{_order}_cpu", f"Bessel function of the second kind, order {_order}.")
    _special(
        f"modified_bessel_i{_order}",
        f"modified_bessel_i{_order}_cpu",
        f"Modified Bessel function of the first kind, order {_order}.",
    )
    _special(
        f"modified_bessel_k{_order}",
        f"modified_bessel_k{_order}_cpu",
        f"Modified Bessel function of the second kind, order {_order}.",
    )
    _special(f"scaled_modified_bessel_k{_order}", f"scaled_modified_bessel_k{_order}_cpu", f"exp(x) * modified_bessel_k{_order}(x).",
             argument="x")  # fmt: skip
_special("spherical_bessel_j0", "spherical_bessel_j0_cpu", "sin(x) / x, and 1 at 0.", argument="x")
_special("airy_ai", "airy_ai_cpu", "Airy function Ai.", argument="x")
