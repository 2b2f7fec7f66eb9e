"""Special functions over NumPy; `mt_backend_cpu.special_functions` computes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..blocks import blockwise
from ..registry import kernel, kernels
from ..special_functions import bessel, erf, gamma, incomplete_gamma
from ..special_functions.polynomials import FUNCTIONS
from .elementwise_power import in_single, rounded

kernels({
    "erf": blockwise(erf.erf), "erfc": blockwise(erf.erfc), "erfinv": blockwise(erf.erfinv),
    "special_erfcx": blockwise(erf.erfcx),
    "special_ndtri": blockwise(erf.ndtri), "special_log_ndtr": blockwise(erf.log_ndtr),
    "lgamma": blockwise(gamma.lgamma),
    "digamma": blockwise(gamma.digamma), "special_zeta": gamma.zeta, "special_zeta.self_scalar": gamma.zeta,
    "special_zeta.other_scalar": gamma.zeta, "igamma": incomplete_gamma.igamma, "igammac": incomplete_gamma.igammac,
    "i0": bessel.i0, "special_i0e": bessel.i0e, "special_i1": bessel.i1, "special_i1e": bessel.i1e,
    "special_bessel_j0": bessel.j0, "special_bessel_j1": bessel.j1, "special_bessel_y0": bessel.y0,
    "special_bessel_y1": bessel.y1,
    "special_modified_bessel_i0": bessel.i0, "special_modified_bessel_i1": bessel.i1,
    "special_modified_bessel_k0": bessel.k0,
    "special_modified_bessel_k1": bessel.k1, "special_scaled_modified_bessel_k0": bessel.k0e,
    "special_scaled_modified_bessel_k1": bessel.k1e, "special_spherical_bessel_j0": bessel.spherical_j0,
    "special_airy_ai": bessel.airy_ai,
}, fills=False)  # fmt: skip
kernels({f"special_{name}{overload}": function for name,
        function in FUNCTIONS.items() for overload in ("", ".x_scalar", ".n_scalar")},
        fills=False)  # fmt: skip


@kernel("polygamma")
def polygamma(n: int, self: Any) -> Any:
    """self (*) -> (*)."""
    return gamma.polygamma(n, self)


@kernel("sinc")
def sinc(self: Any) -> Any:
    """self (*) -> (*)."""
    product = np.asarray(self * np.pi)
    return np.where(self == 0, product.dtype.type(1), np.sin(product) / product)


@kernel("special_entr", half="native")
def entr(self: Any) -> Any:
    """self (*) -> (*): of half types, the logarithm is rounded too."""
    stored = self.dtype
    self = in_single(self)
    return np.where(
        self > 0, -self * rounded(np.log(self), stored), np.where(self == 0, 0, np.where(np.isnan(self), self, -np.inf))
    )


def _vanishing_at_zero(function: Any) -> Any:
    """self * function(other), but 0 where self is 0 and other is a number; half types round the function too."""

    def product(self: Any, other: Any) -> Any:
        stored = (self if hasattr(self, "dtype") else other).dtype
        self, other = in_single(np.asarray(self, stored)), in_single(np.asarray(other, stored))
        return np.where((self == 0) & ~np.isnan(other), 0, self * rounded(function(other), stored))

    return product


kernel("xlogy.Tensor", "xlogy.Scalar_Self", "xlogy.Scalar_Other", half="native")(_vanishing_at_zero(np.log))
kernel(
    "special_xlog1py", "special_xlog1py.self_scalar", "special_xlog1py.other_scalar", half="native"
)(_vanishing_at_zero(np.log1p))  # fmt: skip
