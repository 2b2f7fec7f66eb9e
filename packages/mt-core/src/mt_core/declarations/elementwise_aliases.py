"""Second names of elementwise operators, and composites of them."""

from __future__ import annotations

from . import (
    elementwise,
    elementwise_bitwise,
    elementwise_complex,
    elementwise_power,
    elementwise_rounding,
    elementwise_transcendental,
)
from ._declare import Family

__all__ = ["family"]

family = Family("elementwise")

#: Declared first: what the names stand for.
_TARGETS = (
    elementwise, elementwise_bitwise, elementwise_complex, elementwise_power, elementwise_rounding, elementwise_transcendental,
)  # fmt: skip

for _name, _target in {
    "absolute": "abs", "subtract.Tensor": "sub.Tensor", "multiply.Tensor": "mul.Tensor", "divide.Tensor": "div.Tensor",
    "divide.Tensor_mode": "div.Tensor_mode", "true_divide.Tensor": "div.Tensor",
}.items():  # fmt: skip
    family.alias(_name, _target)
for _name, _target in {
    "negative": "neg", "fix": "trunc", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctanh": "atanh", "arctan2": "atan2",
}.items():  # fmt: skip
    family.alias(_name, _target, inplace_variants="method" if _name == "arctan2" else "function method")
family.composite("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", doc="The p-norm of self - other.")
