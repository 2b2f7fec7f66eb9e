"""Sample inputs: special functions."""

from __future__ import annotations

from ... import dtypes
from ..sample import binary, call, cases, constants, number_and_tensor, tensor_and_number, unary

REAL = (dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.int64, dtypes.bool)
FLOATS = (dtypes.float32, dtypes.float64)

unary("erf erfc sinc i0 special_erfcx special_ndtr special_log_ndtr special_i0e special_i1 special_i1e special_round")
unary(
    "special_bessel_j0 special_bessel_j1 special_modified_bessel_i0 special_modified_bessel_i1 "
    "special_spherical_bessel_j0 special_airy_ai",
    dtypes=REAL,
)
unary("erfinv", low=-0.9, high=0.9, dtypes=REAL)
unary("special_ndtri special_entr", low=0.1, high=0.9, dtypes=REAL)
unary(
    "lgamma digamma special_bessel_y0 special_bessel_y1 special_modified_bessel_k0 special_modified_bessel_k1",
    low=0.5,
    dtypes=REAL,
)
unary("special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1", low=0.5, dtypes=REAL)
unary("mvlgamma", 2, low=1.5, high=4, dtypes=FLOATS)
number_and_tensor("polygamma", 1, low=0.5, dtypes=FLOATS)
cases("polygamma_", lambda t: call(t(2, 3, low=0.5), 1))
binary("xlogy.Tensor special_xlog1py igamma igammac", low=0.25, dtypes=FLOATS)
binary("special_zeta", low=1.25, high=4, dtypes=FLOATS)
number_and_tensor("xlogy.Scalar_Self special_xlog1py.self_scalar", 2, low=0.25, dtypes=FLOATS)
tensor_and_number("xlogy.Scalar_Other special_xlog1py.other_scalar", 2, low=0.25, dtypes=FLOATS)
number_and_tensor("special_zeta.self_scalar", 3, low=1.25, dtypes=FLOATS)
tensor_and_number("special_zeta.other_scalar", 3, low=1.25, dtypes=FLOATS)

POLYNOMIALS = (
    *(f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"),
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
)  # fmt: skip
for _name in POLYNOMIALS:
    cases(f"special_{_name}", lambda t: call(t(2, 3, low=0, high=1), t.ints(2, 3)), lambda t: call(t(2, 1), t.ints(3)))
    cases(f"special_{_name}.x_scalar", lambda t: call(0.5, t.ints(2, 3)))
    cases(f"special_{_name}.n_scalar", lambda t: call(t(2, 3, low=0, high=1), 3))
#: Beside both ends of the interval, where the Chebyshev polynomials' formulas are delicate.
ENDS = ([[-1.0, -1 + 2.0**-53, -1 + 2.0**-52, -1 + 2.0**-30], [1.0, 1 - 2.0**-53, 1 - 2.0**-30, 1.5]], dtypes.float64)
for _name in POLYNOMIALS:
    cases(f"special_{_name}.n_scalar", *[lambda t, n=n: call(t.of(*ENDS), n) for n in (1, 2, 6, 7, 8, 9, 20)])
cases(
    "special_softmax special_log_softmax", lambda t: call(t(2, 3), 1), lambda t: call(t(2, 3), 0, dtype=dtypes.float64)
)
constants("igamma igammac special_gammainc special_gammaincc special_zeta special_zeta.other_scalar", "self")

# Arguments away from their defaults.
number_and_tensor("polygamma special_polygamma", 3, low=0.5, dtypes=FLOATS)
number_and_tensor("polygamma", 0, low=0.5, dtypes=FLOATS)
cases("polygamma_", lambda t: call(t(2, 3, low=0.5), 2))
unary("mvlgamma special_multigammaln", 1, low=1.5, high=4, dtypes=FLOATS)
number_and_tensor("special_polygamma", 1, low=0.5, dtypes=FLOATS)
number_and_tensor("special_xlogy.self_scalar", 1.5, low=0.25, dtypes=FLOATS)
tensor_and_number("special_xlogy.other_scalar", 3, dtypes=FLOATS)
unary("mvlgamma special_multigammaln", 3, low=2.5, high=4, dtypes=FLOATS)
number_and_tensor("xlogy.Scalar_Self special_xlogy.self_scalar special_xlog1py.self_scalar", 0, low=0.25, dtypes=FLOATS)
tensor_and_number("xlogy.Scalar_Other special_xlogy.other_scalar special_xlog1py.other_scalar", 0.5, dtypes=FLOATS)
number_and_tensor("special_zeta.self_scalar", 1.5, low=1.25, dtypes=FLOATS)
tensor_and_number("special_zeta.other_scalar", 0.5, low=1.25, high=4, dtypes=FLOATS)
unary("special_round", low=-200, high=200, decimals=-1, dtypes=FLOATS)
unary("special_round", decimals=2, dtypes=FLOATS)
for _name in POLYNOMIALS:
    cases(f"special_{_name}.x_scalar", lambda t: call(-0.25, t.ints(2, 6, high=9)))
    cases(f"special_{_name}", lambda t: call(t(3, 4, low=-1.5, high=1.5), t.ints(3, 4, high=12)))
