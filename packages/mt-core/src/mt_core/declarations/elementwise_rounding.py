"""Rounding and the parts of floating-point numbers: declarations."""

from __future__ import annotations

from ..promotion import ARITHMETIC, FLOAT
from ._checks import COMPLEX, COMPLEX_HALF, EXACT_OUT, FLOATS, INTEGERS, REAL, UNSIGNED, Refusal, Supported
from ._declare import Family

family = Family("elementwise")

_WHOLE = INTEGERS | UNSIGNED | FLOATS

for _name, _doc in (
    ("ceil", "The smallest integer not below."), ("floor", "The largest integer not above."), ("trunc", "Rounded towards zero."),
):  # fmt: skip
    _complex = Refusal(COMPLEX | COMPLEX_HALF, f"{_name} is not supported for complex inputs", NotImplementedError)
    family.unary(_name, promotion=ARITHMETIC, inplace_variants="function method", doc=_doc,
              check=Supported(f"{_name}_vml_cpu", _WHOLE, _complex), exact_out=EXACT_OUT)  # fmt: skip
family.unary("round", promotion=ARITHMETIC, inplace_variants="function method", check=Supported("round_vml_cpu", _WHOLE),
          exact_out=EXACT_OUT, doc="Rounded to the nearest integer, halves to the even one.")  # fmt: skip

family.elementwise(
    "round.decimals(Tensor self, *, int decimals) -> Tensor",
    inplace=True, inplace_variants="function method", out=True, exact_out=EXACT_OUT,
    # Without decimals to keep, PyTorch rounds by the kernel of `round`, whose name its message has.
    check=Supported(lambda args: "round_cpu" if args[1] else "round_vml_cpu", FLOATS),
    doc="Rounded to `decimals` decimal places; negative ones stand before the point.",
)  # fmt: skip
family.unary("frac", promotion=ARITHMETIC, inplace_variants="function method", check=Supported("frac_cpu", FLOATS),
          exact_out=EXACT_OUT, doc="self - trunc(self).")  # fmt: skip
family.plain("frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", out=("Tensor_out", ("mantissa", "exponent")),
          exact_out=("torch.frexp() expects mantissa to have dtype {cpp_expected} but got {cpp_out}",
                     "torch.frexp() expects exponent to have int dtype but got {cpp_out}"),
          doc="mantissa * 2**exponent == self with abs(mantissa) in [0.5, 1); the exponents are int32.")  # fmt: skip
family.binary("copysign.Tensor", promotion=FLOAT, check=Supported("copysign_cpu", REAL | UNSIGNED),
           doc="The modulus of self with the sign of other.")  # fmt: skip
family.elementwise("copysign.Scalar(Tensor self, Scalar other) -> Tensor", promotion=FLOAT, promotes="self other", inplace=True,
                out=True, check=Supported("copysign_cpu", REAL | UNSIGNED))  # fmt: skip
family.binary(
    "nextafter", check=Supported("nextafter_cpu", FLOATS), doc="The next number of the dtype from self towards other."
)
