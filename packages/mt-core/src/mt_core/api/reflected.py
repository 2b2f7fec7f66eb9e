"""Operators with a Python number on the left: ``2 / x``, ``2 // x``, ``2 % x``, ``2 ** x``, ``2 << x``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..promotion import result_type_of
from . import _functions as ops

__all__ = ["FORMULAS"]


def _quotient(self: Any, number: Any) -> Any:
    return self.reciprocal() * number


def _floor_quotient(self: Any, number: Any) -> Any:
    return ops.div(_as_tensor(self, number), self, rounding_mode="floor")


def _as_tensor(self: Any, number: Any) -> Any:
    """The number on the tensor's device, in the dtype that number and tensor promote to, so that it adds nothing."""
    return ops.full((), number, dtype=result_type_of([self, number]), device=self.device)


#: Packet -> function of (tensor on the right, number on the left).
FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "div": _quotient,
    "floor_divide": _floor_quotient,
    "remainder": lambda self, number: ops.remainder(number, self),
    "pow": lambda self, number: ops.pow(number, self),
    "bitwise_left_shift": lambda self, number: ops.bitwise_left_shift(number, self),
    "bitwise_right_shift": lambda self, number: ops.bitwise_right_shift(number, self),
}
