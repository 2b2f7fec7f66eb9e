"""Special functions: declarations."""

from __future__ import annotations

from typing import Any

from ..dtypes import can_cast, dtype, scalar_type_name
from ..promotion import FLOAT
from ._checks import COMPLEX, FLOATS, REAL, UNSIGNED, OutOf, Supported
from ._declare import Family

family = Family("special")

_REAL = REAL | UNSIGNED
#: Without the half types: integers become the default float.
_WIDE = frozenset(d for d in _REAL if d not in FLOATS or d.native)


def _unary(name: str, kernel: str, doc: str, accepted: Any = _REAL, inplace_variants: str = "function method") -> None:
    family.unary(name, promotion=FLOAT, inplace_variants=inplace_variants, check=Supported(kernel, accepted), doc=doc)


def _special(name: str, kernel: str, doc: str, accepted: Any = _WIDE, argument: str = "self") -> None:
    """A function of ``torch.special``, without in-place form."""
    family.elementwise(f"special_{name}(Tensor {argument}) -> Tensor", promotion=FLOAT, namespace="torch.special", python_name=name,
                    variants="function", out=True, check=Supported(kernel, accepted), doc=doc)  # fmt: skip


_unary("erf", "erf_vml_cpu", "Error function: 2 / sqrt(pi) times the integral of exp(-t*t) from 0 to self.")
_unary("erfc", "erfc_vml_cpu", "1 - erf(self), accurate where that is small.")
_unary("erfinv", "erfinv_vml_cpu", "Inverse of erf; infinite at 1 and -1, NaN beyond.", inplace_variants="method")
_special("erfcx", "erfcx_cpu", "exp(self * self) * erfc(self).")
_special("ndtri", "ndtri_cpu", "The x at which the normal distribution function is self.")
_special("log_ndtr", "log_ndtr_cpu", "Logarithm of the normal distribution function.")
family.composite("special_ndtr(Tensor self) -> Tensor", namespace="torch.special", python_name="ndtr", variants="function", out=True,
              doc="Normal distribution function.")  # fmt: skip
_unary("lgamma", "lgamma_vml_cpu", "Logarithm of the modulus of the gamma function.", inplace_variants="method")
_unary("digamma", "digamma", "Derivative of lgamma.", inplace_variants="method")
_unary("sinc", "sinc_cpu", "sin(pi * self) / (pi * self), and 1 at 0.", _REAL | COMPLEX)
_special("entr", "entr_cpu", "-self * log(self); 0 at 0, minus infinity for negative numbers.", _REAL)


def _check_order(args: tuple[Any, ...], common: Any) -> None:
    if args[0] < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")


def _polygamma_kernel(args: tuple[Any, ...]) -> str:
    """Orders 0 and 1 have kernels of their own."""
    return {0: "digamma", 1: "trigamma"}.get(args[0], "polygamma")


family.elementwise("polygamma(int n, Tensor self) -> Tensor", promotion=FLOAT, out=True, check=Supported(_polygamma_kernel, _REAL, also=_check_order),
                doc="Derivative of order n of digamma.")  # fmt: skip
family.composite("polygamma_(Tensor(a!) self, int n) -> Tensor(a!)", variants="method", doc="In-place `polygamma`.")


def _check_mvlgamma_out(self: Any, result: dtype, out: dtype) -> None:
    if not can_cast(result, out):
        shown = scalar_type_name(self._dtype), scalar_type_name(result)
        raise RuntimeError(f"mvlgamma: result type {shown[0]} can't be cast to the desired output type {shown[1]}")


family.composite("mvlgamma(Tensor self, int p) -> Tensor", inplace=True, out=True, out_check=OutOf(_check_mvlgamma_out),
              doc="Logarithm of the multivariate gamma function of dimension p.")  # fmt: skip


def _two(name: str, kernel: str, doc: str, overloads: tuple[str, str, str], outs: Any, inplace: tuple[Any, Any], accepted: Any = _REAL,
         **options: Any) -> None:  # fmt: skip
    """A binary function with overloads for two tensors, a number first, and a number second."""
    check = Supported(kernel, accepted)
    signatures = ("Tensor self, Tensor other", "Scalar self, Tensor other", "Tensor self, Scalar other")
    for overload, signature, out, in_place in zip(
        overloads, signatures, outs, (inplace[0], False, inplace[1]), strict=True
    ):
        variants = "function" if signature.startswith("Scalar") else options.get("variants", "function method")
        family.elementwise(f"{name}{overload}({signature}) -> Tensor", **{**options, "variants": variants}, promotion=FLOAT,
                        promotes="self other", inplace=in_place, inplace_variants="function method", out=out, check=check,
                        doc=doc if overload == overloads[0] else "")  # fmt: skip


_two("xlogy", "xlogy_cpu", "self * log(other); 0 where self is 0 and other is not NaN.", (".Tensor", ".Scalar_Self", ".Scalar_Other"),
     ("OutTensor", "OutScalar_Self", "OutScalar_Other"), (True, True))  # fmt: skip
_IN_SPECIAL = {"namespace": "torch.special", "variants": "function"}
_SCALARS = ("", ".self_scalar", ".other_scalar")
_two("special_xlog1py", "xlog1py_cpu", "self * log1p(other); 0 where self is 0 and other is not NaN.", _SCALARS, (True, True, True),
     (False, False), python_name="xlog1py", **_IN_SPECIAL)  # fmt: skip
_two("special_zeta", "zeta_cpu", "Hurwitz zeta function: the sum of (other + k) ** -self over k >= 0.", _SCALARS, (True, True, True),
     (False, False), _WIDE, python_name="zeta", **_IN_SPECIAL)  # fmt: skip
for _name, _doc in (
    ("igamma", "Regularized lower incomplete gamma function."),
    ("igammac", "Regularized upper incomplete gamma function."),
):
    family.binary(_name, check=Supported(f"{_name}_cpu", FLOATS), doc=_doc)
