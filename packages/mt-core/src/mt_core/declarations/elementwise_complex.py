"""Complex numbers: declarations."""

from __future__ import annotations

from typing import Any

from ..dtypes import bfloat16, float16, scalar_type_name
from ..promotion import ARITHMETIC, COMPLEX_OF_REAL, FLOAT_REAL
from ._checks import COMPLEX, EXACT_OUT, FLOATS, REAL, UNSIGNED, Supported
from ._declare import Family

family = Family("elementwise")

family.unary("angle", promotion=FLOAT_REAL, inplace=False, check=Supported("angle_cpu", REAL | UNSIGNED | COMPLEX),
          doc="Argument in (-pi, pi]; pi for negative real numbers.")  # fmt: skip
family.composite("conj_physical(Tensor self) -> Tensor", inplace=True, inplace_variants="function method", exact_out=EXACT_OUT, out=True,
              doc="Complex conjugate, computed at once; a real tensor itself.")  # fmt: skip
family.unary("_conj_physical", promotion=ARITHMETIC, inplace=False)


def _check_parts(args: tuple[Any, ...], common: Any) -> None:
    first, second = args[0].dtype, args[1].dtype
    if not {first, second} <= FLOATS - {bfloat16}:
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{scalar_type_name(first)} and {scalar_type_name(second)}"
        )
    if first is not second:
        raise RuntimeError(
            f"Expected object of scalar type {scalar_type_name(first)} but got scalar type "
            f"{scalar_type_name(second)} for second argument"
        )


_PARTS = FLOATS - {bfloat16}
_EXACT_PARTS = "Expected object of scalar type {expected} but got scalar type {out} for argument 'out'"
family.elementwise("complex(Tensor real, Tensor imag) -> Tensor", variants="function", out=True, exact_out=_EXACT_PARTS, promotion=COMPLEX_OF_REAL,
                check=Supported("complex_cpu", _PARTS, also=_check_parts),
                doc="real + imag * 1j, broadcast; both of one dtype: half, float or double.")  # fmt: skip
family.elementwise("polar(Tensor abs, Tensor angle) -> Tensor", variants="function", out=True, exact_out=_EXACT_PARTS, promotion=COMPLEX_OF_REAL,
                check=Supported("polar_cpu", _PARTS - {float16}, also=_check_parts),
                doc="abs * exp(1j * angle), broadcast; both of one dtype: float or double.")  # fmt: skip
family.composite(
    "real(Tensor(a) self) -> Tensor(a)", variants="function", doc="The real parts: a view, or a real tensor itself."
)
family.composite("imag(Tensor(a) self) -> Tensor(a)", variants="function", doc="The imaginary parts: a view.")
family.view("view_as_real(Tensor(a) self) -> Tensor(a)", variants="function",
         doc="A complex tensor read as a real one with a last dimension of size 2.")  # fmt: skip
family.view("view_as_complex(Tensor(a) self) -> Tensor(a)", variants="function",
         doc="A real tensor whose last dimension has size 2 read as a complex one.")  # fmt: skip
family.composite(
    "conj(Tensor(a) self) -> Tensor(a)",
    doc="Complex conjugate: a real tensor itself, of a complex one a view that is read conjugated.",
)
family.view("_conj(Tensor(a) self) -> Tensor(a)", doc="A view of a complex tensor that is read conjugated.")
family.view("_neg_view(Tensor(a) self) -> Tensor(a)", doc="A view that is read negated.")
for _name, _done in (("resolve_conj", "conjugation"), ("resolve_neg", "negation")):
    family.composite(
        f"{_name}(Tensor(a) self) -> Tensor(a)",
        doc=f"A copy where {_done} waits until elements are read (`is_{_name[8:]}()`), else the tensor itself.",
    )
