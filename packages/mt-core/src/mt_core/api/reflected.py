"""Operators by their right operand: ``2 / x``, ``2 // x``, ``2 % x``, ``2 ** x``, ``2 << x``, ``x.__rpow__(y)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..promotion import result_type_of
from ..tensor_types import TENSORS
from . import _functions as ops

__all__ = ["FORMULAS"]


def _quotient(self: Any, other: Any) -> Any:
    return self.reciprocal() * other


def _floor_quotient(self: Any, other: Any) -> Any:
    if other.__class__ in TENSORS:
        return ops.floor_divide(other, self)
    return ops.div(_as_tensor(self, other), self, rounding_mode="floor")


def _as_tensor(self: Any, number: Any) -> Any:
    """The number on the tensor's device, in the dtype that number and tensor promote to, so that it adds nothing."""
    return ops.full((), number, dtype=result_type_of([self, number]), device=self.device)


#: Packet -> function of (tensor on the right, number or tensor on the left).
FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "rsub": lambda self, other: ops.rsub(self, other),
    "div": _quotient,
    "floor_divide": _floor_quotient,
    "remainder": lambda self, other: ops.remainder(other, self),
    "pow": lambda self, other: ops.pow(other, self),
    "bitwise_left_shift": lambda self, other: ops.bitwise_left_shift(other, self),
    "bitwise_right_shift": lambda self, other: ops.bitwise_right_shift(other, self),
}
