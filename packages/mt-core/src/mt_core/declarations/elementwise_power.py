"""Powers, roots and their relatives: declarations."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..number_range import check_number
from ..promotion import FLOAT
from ._checks import COMPLEX, FLOATS, INTEGERS, REAL, UNSIGNED, OutDtypes, Supported
from ._declare import Family

family = Family("elementwise")

_FLOAT_OR_COMPLEX = REAL | UNSIGNED | COMPLEX


def _check_exponent(args: tuple[Any, ...], common: Any) -> None:
    exponent = args[1]
    if common.is_integral and exponent.__class__ is int and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if common in (dtypes.float16, dtypes.bfloat16) or common in INTEGERS and exponent.__class__ is int:
        check_number(exponent, common)


def _power_kernel(args: tuple[Any, ...]) -> str | None:
    """``b ** 0`` and ``b ** 1`` are decided before PyTorch looks at the dtype."""
    return None if args[1] in (0, 1) else "pow"


def _power_of_number_kernel(args: tuple[Any, ...]) -> str | None:
    """``1 ** b`` is decided before PyTorch looks at the dtype."""
    return None if args[0] == 1 and args[0].__class__ is not bool else "pow"


_POWER = INTEGERS | FLOATS | COMPLEX

family.elementwise(
    "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    inplace="Tensor", out=True, check=Supported("pow", _POWER), doc="self ** exponent, broadcast.",
)  # fmt: skip
family.elementwise(
    "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
    variants="function", promotes="self exponent", out=True, check=Supported(_power_of_number_kernel, _POWER),
)  # fmt: skip
family.elementwise(
    "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    promotes="self exponent", inplace="Scalar", out=True, check=Supported(_power_kernel, _POWER, also=_check_exponent),
)  # fmt: skip
family.composite("float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", inplace="Tensor", out=True,
              doc="self ** exponent in double precision.")  # fmt: skip
family.composite("float_power.Scalar(Scalar self, Tensor exponent) -> Tensor", variants="function", out=True)
family.composite("float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", inplace="Scalar", out=True)
family.composite(
    "square(Tensor self) -> Tensor", inplace=True, inplace_variants="function method", out=True, doc="self * self."
)
for _name, _kernel, _doc in (
    ("sqrt", "sqrt_vml_cpu", "Square root; NaN for negative real numbers."),
    ("rsqrt", "rsqrt_cpu", "Reciprocal of the square root."),
    ("reciprocal", "reciprocal_cpu", "1 / self."),
):
    family.unary(
        _name,
        promotion=FLOAT,
        inplace_variants="function method",
        check=Supported(_kernel, _FLOAT_OR_COMPLEX),
        doc=_doc,
    )
family.binary(
    "hypot", check=Supported("hypot_cpu", FLOATS), doc="Square root of self**2 + other**2, without overflow in between."
)
family.plain(
    "ldexp.Tensor(Tensor self, Tensor other) -> Tensor", inplace="", inplace_variants="function method", out="out",
    out_check=OutDtypes("ldexp can't be cast to the desired output type {out}"),
    doc="self * 2 ** other; whole exponents leave a floating dtype as it is.",
)  # fmt: skip
