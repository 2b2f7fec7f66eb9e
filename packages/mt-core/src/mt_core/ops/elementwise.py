"""Elementwise arithmetic: declarations."""

from __future__ import annotations

from typing import Any

from ..dtypes import bool as bool_dtype
from ..promotion import ARITHMETIC, FLOAT
from ._declare import Family

ops = Family("elementwise")


def _check_alpha(args: tuple[Any, ...], common: Any) -> None:
    alpha = args[2]
    if alpha.__class__ is bool and common is not bool_dtype:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if not (common.is_floating_point or common.is_complex) and isinstance(alpha, (float, complex)):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not common.is_complex:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


def _check_sub(args: tuple[Any, ...], common: Any) -> None:
    _check_alpha(args, common)
    self, other = args[0], args[1]
    if getattr(self, "_dtype", None) is bool_dtype and getattr(other, "_dtype", bool_dtype if other is True or other is False else None) is bool_dtype:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
        )
    if bool_dtype in (getattr(self, "_dtype", None), getattr(other, "_dtype", None)):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the "
            "`~` or `logical_not()` operator instead."
        )


ops.elementwise(
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    promotion=ARITHMETIC, inplace=True, out=True, numbers="self other", check=_check_alpha,
    doc="self + alpha * other, broadcast.",
)  # fmt: skip
ops.elementwise(
    "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    promotion=ARITHMETIC, inplace=True, out=True, numbers="self other", check=_check_sub,
    doc="self - alpha * other, broadcast; bool tensors are refused.",
)  # fmt: skip
ops.binary("mul.Tensor", numbers="self other", doc="self * other, broadcast.")
ops.binary("div.Tensor", promotion=FLOAT, numbers="self other", doc="self / other, broadcast; integers give the default float.")
ops.unary("exp", doc="e to the power of each element.")
ops.unary("neg", promotion=ARITHMETIC)
