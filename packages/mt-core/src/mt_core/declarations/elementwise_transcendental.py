"""Exponentials, logarithms, trigonometric and hyperbolic functions: declarations."""

from __future__ import annotations

from ..promotion import FLOAT
from ._checks import COMPLEX, COMPLEX_HALF, FLOAT8, FLOATS, REAL, UNSIGNED, Refusal, Supported
from ._declare import Family

family = Family("elementwise")

_REAL = REAL | UNSIGNED
_ANY = _REAL | COMPLEX

#: name -> (PyTorch's name of the kernel, documentation); integers give the default float.
_FUNCTIONS = {
    "exp": ("exp_vml_cpu", "e to the power of each element."),
    "exp2": ("exp2", "2 to the power of each element."),
    "expm1": ("expm1_vml_cpu", "exp(self) - 1, accurate near 0."),
    "log": ("log_vml_cpu", "Natural logarithm."),
    "log2": ("log2_vml_cpu", "Logarithm to base 2."),
    "log10": ("log10_vml_cpu", "Logarithm to base 10."),
    "log1p": ("log1p_vml_cpu", "log(1 + self), accurate near 0."),
    "sin": ("sin_vml_cpu", "Sine."),
    "cos": ("cos_vml_cpu", "Cosine."),
    "tan": ("tan_vml_cpu", "Tangent."),
    "asin": ("asin_vml_cpu", "Inverse sine."),
    "acos": ("acos_vml_cpu", "Inverse cosine."),
    "atan": ("atan_vml_cpu", "Inverse tangent."),
    "sinh": ("sinh_cpu", "Hyperbolic sine."),
    "cosh": ("cosh_cpu", "Hyperbolic cosine."),
    "asinh": ("asinh_cpu", "Inverse hyperbolic sine."),
    "acosh": ("acosh_cpu", "Inverse hyperbolic cosine."),
    "atanh": ("atanh_cpu", "Inverse hyperbolic tangent."),
}
for _name, (_kernel, _doc) in _FUNCTIONS.items():
    family.unary(_name, promotion=FLOAT, inplace_variants="function method", check=Supported(_kernel, _ANY), doc=_doc)

family.binary(
    "atan2", promotion=FLOAT, check=Supported("atan2_cpu", _REAL), doc="Angle of the point (other, self), in (-pi, pi]."
)
family.binary("logaddexp", inplace=False, check=Supported("logaddexp_cpu", FLOATS | COMPLEX),
           doc="log(exp(self) + exp(other)), without overflow.")  # fmt: skip
family.binary("logaddexp2", inplace=False, check=Supported("logaddexp2_cpu", FLOATS),
           doc="log2(2**self + 2**other), without overflow.")  # fmt: skip
for _name, _doc in (("deg2rad", "Degrees to radians."), ("rad2deg", "Radians to degrees.")):
    _complex = Refusal(COMPLEX | COMPLEX_HALF, f"{_name} is not supported for complex tensors.")
    family.unary(_name, promotion=FLOAT, inplace_variants="function method", doc=_doc,
              check=Supported("mul_cpu_reduced_float", _ANY - COMPLEX - FLOAT8, _complex))  # fmt: skip
