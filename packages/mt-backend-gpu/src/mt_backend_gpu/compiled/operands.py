"""Functors of two operands, of which one may be a number."""

from __future__ import annotations

from typing import Any

import cupy

from .elementwise import pointwise
from .on_cupy import machine

__all__ = ["combine", "is_number"]


def is_number(value: Any) -> bool:
    """Whether an operand is Python's number, which goes by value."""
    return not isinstance(value, cupy.ndarray)


def combine(
    name: str, left: Any, right: Any, out: Any = None, numbers: tuple[Any, ...] = (), result: Any = None
) -> Any:
    """A functor of two operands, one of which may be a number."""
    if is_number(right):
        given = (*numbers, 0, 0, 0)[:3]
        return pointwise(machine(), f"number_right<{name}>", left, numbers=(*given, right), out=out, result=result)
    if is_number(left):
        given = (*numbers, 0, 0, 0)[:3]
        return pointwise(machine(), f"number_left<{name}>", right, numbers=(*given, left), out=out, result=result)
    return pointwise(machine(), name, left, right, numbers=numbers, out=out, result=result)
