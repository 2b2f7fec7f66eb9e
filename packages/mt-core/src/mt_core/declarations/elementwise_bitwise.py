"""Bits and divisors of integers: declarations."""

from __future__ import annotations

from typing import Any

from ..promotion import ARITHMETIC
from ._checks import BOOL, EXACT_OUT, INTEGERS, UNSIGNED, Supported
from ._declare import Family

family = Family("elementwise")

#: Python lists a number on either side as a signature of its own.
_NUMBERS: dict[str, Any] = {
    "out": "Tensor_out",
    "numbers": "self other",
    "number_signatures": {"self": False, "other": True},
}

for _name, _doc in (("and", "Bitwise and."), ("or", "Bitwise or."), ("xor", "Bitwise exclusive or.")):
    family.binary(f"bitwise_{_name}.Tensor", check=Supported(f"bitwise_{_name}_cpu", BOOL | INTEGERS | UNSIGNED), **_NUMBERS,
               doc=f"{_doc} Bool and integer tensors only.")  # fmt: skip
family.unary("bitwise_not", promotion=ARITHMETIC, exact_out=EXACT_OUT, check=Supported("bitwise_not_cpu", BOOL | INTEGERS),
          doc="All bits inverted; logical not for bool tensors.")  # fmt: skip
for _side in ("left", "right"):
    family.binary(f"bitwise_{_side}_shift.Tensor", check=Supported(f"{_side[0]}shift_cpu", INTEGERS), **_NUMBERS,
               doc=(
                   f"Bits moved {_side} by `other`; a shift by at least the width, or a negative one, moves all of "
                   "them out."
               ))  # fmt: skip
family.binary(
    "gcd", inplace_variants="function method", check=Supported("gcd_cpu", INTEGERS), doc="Greatest common divisor."
)
family.binary(
    "lcm", inplace_variants="function method", check=Supported("lcm_cpu", INTEGERS), doc="Least common multiple."
)
