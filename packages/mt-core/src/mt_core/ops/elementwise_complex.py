"""Complex numbers: declarations."""

from __future__ import annotations

from ..promotion import ARITHMETIC, FLOAT_REAL
from ._checks import COMPLEX, REAL, UNSIGNED, Supported
from ._declare import Family

ops = Family("elementwise")

ops.unary("angle", promotion=FLOAT_REAL, inplace=False, check=Supported("angle_cpu", REAL | UNSIGNED | COMPLEX),
          doc="Argument in (-pi, pi]; pi for negative real numbers.")  # fmt: skip
ops.unary("conj_physical", promotion=ARITHMETIC, inplace_variants="function method", doc="Complex conjugate, computed at once.")
ops.plain("complex(Tensor real, Tensor imag) -> Tensor", variants="function", out=True,
          doc="real + imag * 1j, broadcast; both of one dtype: half, float or double.")  # fmt: skip
ops.plain("polar(Tensor abs, Tensor angle) -> Tensor", variants="function", out=True,
          doc="abs * exp(1j * angle), broadcast; both of one dtype: float or double.")  # fmt: skip
ops.composite("real(Tensor(a) self) -> Tensor(a)", variants="function", doc="The real parts: a view, or a real tensor itself.")
ops.composite("imag(Tensor(a) self) -> Tensor(a)", variants="function", doc="The imaginary parts: a view.")
ops.view("view_as_real(Tensor(a) self) -> Tensor(a)", variants="function",
         doc="A complex tensor read as a real one with a last dimension of size 2.")  # fmt: skip
ops.view("view_as_complex(Tensor(a) self) -> Tensor(a)", variants="function",
         doc="A real tensor whose last dimension has size 2 read as a complex one.")  # fmt: skip
ops.composite("conj(Tensor(a) self) -> Tensor(a)", doc="Complex conjugate: a real tensor itself, of a complex one a new tensor.")
for _name in ("resolve_conj", "resolve_neg"):
    ops.composite(f"{_name}(Tensor(a) self) -> Tensor(a)", doc="The tensor itself: conjugation and negation are never pending.")
