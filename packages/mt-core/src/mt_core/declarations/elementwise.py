"""Elementwise arithmetic: declarations."""

from __future__ import annotations

from typing import Any

from ..dtypes import ALL_DTYPES, can_cast, cpp_type_name, dtype
from ..dtypes import bool as bool_dtype
from ..number_range import check_width
from ..promotion import ARITHMETIC, DIVISION, FLOAT, KEEP
from ..promotion import REAL as REAL_RESULT
from ._checks import (
    BOOL,
    COMPLEX,
    COMPLEX_HALF,
    EXACT_OUT,
    FLOAT8,
    FLOATS,
    INTEGERS,
    REAL,
    UNSIGNED,
    OutOf,
    Refusal,
    Supported,
    is_exactly,
    is_scaling_float8,
    not_castable,
)
from ._declare import Family

family = Family("elementwise")

_NUMBERS = REAL | COMPLEX
_ADDABLE = _NUMBERS | COMPLEX_HALF
#: What integers become floating point for: everything but the types that PyTorch only stores.
_DIVISIBLE = _NUMBERS | UNSIGNED
_ORDERED = INTEGERS | FLOATS


def _check_alpha(args: tuple[Any, ...], common: Any) -> None:
    alpha = args[2]
    if alpha.__class__ is bool and common is not bool_dtype:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if not (common.is_floating_point or common.is_complex) and isinstance(alpha, (float, complex)):
        check_width(args[1])
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not common.is_complex:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


def _is_bool(operand: Any) -> bool:
    return operand.__class__ is bool or getattr(operand, "_dtype", None) is bool_dtype


def _check_sub(args: tuple[Any, ...], common: Any) -> None:
    bools = _is_bool(args[0]) + _is_bool(args[1])
    if bools == 2:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if bools:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
            "mask, use the `~` or `logical_not()` operator instead."
        )
    _check_alpha(args, common)


def _check_rounding_mode(args: tuple[Any, ...], common: Any) -> None:
    mode = args[2]
    if mode not in (None, "trunc", "floor"):
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'")


def _rounding_kernel(args: tuple[Any, ...]) -> str | None:
    return None if args[2] is None else f"div_{args[2]}_cpu"


family.elementwise(
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    inplace=True, out=True, old_orders=("self alpha other",), numbers="self other", check=Supported("add_stub", _ADDABLE, also=_check_alpha, takes_reals=True, stored=(2,)),
    doc="self + alpha * other, broadcast.",
)  # fmt: skip
family.elementwise(
    "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    inplace=True, out=True, old_orders=("self alpha other",), numbers="self other", check=Supported("add_stub", _ADDABLE - BOOL, also=_check_sub, takes_reals=True, stored=(2,)),
    doc="self - alpha * other, broadcast; bool tensors are refused.",
)  # fmt: skip
family.composite("rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", variants="function",
              doc="other - alpha * self, broadcast.")  # fmt: skip
family.elementwise(
    "rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    variants="function", promotes="self other", check=Supported("add_stub", _ADDABLE - BOOL, also=_check_sub, takes_reals=True, stored=(2,)),
)  # fmt: skip


def _mul_kernel(args: tuple[Any, ...]) -> str | None:
    return "mul_cpu_reduced_float" if is_scaling_float8(args) else None


def _div_kernel(args: tuple[Any, ...]) -> str:
    return "div_cpu_reduced_float" if is_scaling_float8(args) else "div_cpu"


def _floor_kernel(args: tuple[Any, ...]) -> str:
    return "div_floor_cpu_reduced_float" if is_scaling_float8(args) else "div_floor_cpu"


family.binary(
    "mul.Tensor",
    numbers="self other",
    wide="other",
    check=Supported(_mul_kernel, frozenset(ALL_DTYPES) - FLOAT8),
    doc="self * other, broadcast.",
)
family.binary("div.Tensor", promotion=FLOAT, numbers="self other", wide="other", check=Supported(_div_kernel, _DIVISIBLE),
           doc="self / other, broadcast; integers give the default float.")  # fmt: skip
# Arithmetic with a number inside of other operators, which is recorded apart: a call from Python makes its number a tensor.
for _name, _alpha in (("add", ", Scalar alpha=1"), ("sub", ", Scalar alpha=1"), ("mul", ""), ("div", "")):
    family.composite(f"{_name}.Scalar(Tensor self, Scalar other{_alpha}) -> Tensor", variants="")
family.elementwise(
    "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    promotion=DIVISION, inplace=True, out="out_mode", numbers="self other", wide="other", check=Supported(_rounding_kernel, _ORDERED, also=_check_rounding_mode),
    doc=(
        "self / other, rounded towards zero (``'trunc'``), down (``'floor'``) or not at all (None); rounding keeps "
        "the dtype."
    ),
)  # fmt: skip
family.binary("floor_divide", inplace="Tensor", numbers="self other", wide="other", check=Supported(_floor_kernel, _ORDERED),
           doc="self / other rounded down; an integer divided by zero raises.")  # fmt: skip
for _name, _sign in (("remainder", "other"), ("fmod", "self")):
    _check = Supported(f"{_name}_cpu", _ORDERED)
    family.binary(
        f"{_name}.Tensor",
        out="Tensor_out",
        check=_check,
        doc=f"What is left of self after division by other, with the sign of {_sign}.",
    )
    if _name == "remainder":
        family.elementwise("remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", variants="function",
                        promotes="self other", check=_check)  # fmt: skip
    family.elementwise(f"{_name}.Scalar(Tensor self, Scalar other) -> Tensor", promotes="self other", inplace=True, out=True,
                    check=_check)  # fmt: skip

family.unary("neg", promotion=ARITHMETIC, inplace_variants="function method", check=Supported(
    "neg_cpu", _ADDABLE - BOOL, Refusal(
        BOOL, (
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` or `logical_not()` operator instead."
        ),
    )), exact_out=EXACT_OUT, doc="-self.")  # fmt: skip
family.composite("positive(Tensor(a) self) -> Tensor(a)", doc="self, unchanged; bool tensors are refused.")
_REAL_ABS = Supported("abs_cpu", _ORDERED | FLOAT8, Refusal(
    COMPLEX | COMPLEX_HALF, "In-place abs is not supported for complex tensors."))  # fmt: skip


def _check_abs_out(self: Any, result: dtype, out: dtype) -> None:
    """The modulus of complex numbers is cast, unless ``out`` is complex; nothing else is."""
    if self.is_complex() and not out.is_complex:
        if not can_cast(result, out):
            raise not_castable(result, out)
    else:
        is_exactly(self._dtype, out)


family.unary("abs", promotion=REAL_RESULT, inplace_variants="function method", inplace_check=_REAL_ABS, out_check=OutOf(_check_abs_out),
          check=Supported("abs_cpu", _ADDABLE - BOOL | FLOAT8), doc="Absolute value; the modulus of complex numbers.")  # fmt: skip
family.unary("sign", promotion=ARITHMETIC, doc="-1, 0 or 1; 0 for NaN.", check=Supported("sign_cpu", REAL, Refusal(
    COMPLEX | COMPLEX_HALF, "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.",
    NotImplementedError)), exact_out=EXACT_OUT)  # fmt: skip
family.unary("sgn", promotion=ARITHMETIC, check=Supported("sign_cpu", _ADDABLE), exact_out=EXACT_OUT,
          doc="As `sign`; a complex number divided by its modulus.")  # fmt: skip


family.elementwise(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    inplace=True, out=True, old_orders=("self value tensor1 tensor2",), check=Supported("addcmul_cpu_out", _ADDABLE - BOOL, factors=(3,)), doc="self + value * tensor1 * tensor2, broadcast.",
)  # fmt: skip


def _check_true_division(args: tuple[Any, ...], common: Any) -> None:
    if max(args[1].dtype.category, args[2].dtype.category) < 2:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
            "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
            "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
            "tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * "
            "tensor1 / tensor2), for all dtypes."
        )


family.elementwise(
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    inplace=True, out=True, old_orders=("self value tensor1 tensor2",), check=Supported("addcdiv_cpu_out", FLOATS | COMPLEX, also=_check_true_division, factors=(3,)),
    doc="self + value * tensor1 / tensor2, broadcast; not for two integer tensors.",
)  # fmt: skip


def _check_same_dtype(args: tuple[Any, ...], common: Any) -> None:
    """``lerp`` promotes by a weight without dimensions alone: all others have the dtype of the first."""
    common = args[0]._dtype
    for name, value in zip(("end", "weight"), args[1:], strict=True):
        found = getattr(value, "_dtype", common)
        if found is not common and not (name == "weight" and value.dim() == 0):
            raise RuntimeError(
                f"expected dtype {cpp_type_name(common)} for `{name}` but got dtype {cpp_type_name(found)}"
            )


family.elementwise(
    "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
    promotion=KEEP,
    inplace=True,
    out="Scalar_out",
    check=Supported("lerp_kernel_scalar", FLOATS | COMPLEX, also=_check_same_dtype, factors=(2,)),
    doc="self + weight * (end - self), broadcast; exact at both ends.",
)
family.elementwise(
    "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    promotion=ARITHMETIC,
    inplace=True,
    out="Tensor_out",
    check=Supported("lerp_kernel_tensor", FLOATS | COMPLEX, also=_check_same_dtype),
    exact_out=EXACT_OUT,
)
