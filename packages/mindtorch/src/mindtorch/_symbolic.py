"""``torch.SymInt`` and its kin, and ``torch.sym_int`` and its kin, which take ordinary numbers as well."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

from mt_core.overriding import overridable
from mt_core.symbolic import SymBool, SymFloat, SymInt, is_symbolic

__all__ = [
    "SymBool",
    "SymFloat",
    "SymInt",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
]

Number = Any

SymBool.__module__ = SymFloat.__module__ = SymInt.__module__ = "torch"


@overridable
def sym_int(a: Number) -> Any:
    """`a` cut off towards zero."""
    if isinstance(a, SymInt):
        return a
    return a.__sym_int__() if isinstance(a, SymFloat) else int(a)


@overridable
def sym_float(a: Number) -> Any:
    """`a` as a float."""
    if isinstance(a, SymFloat):
        return a
    return a.__sym_float__() if is_symbolic(a) else float(a)


@overridable
def sym_not(a: Any) -> Any:
    """``not a``."""
    return a.__sym_not__() if isinstance(a, SymBool) else not a


@overridable
def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """`t` if `b`, else `f`."""
    if isinstance(b, SymBool):
        return b.__sym_ite__(t, f)
    return t if b else f


@overridable
def sym_max(a: Number, b: Number) -> Any:
    """The larger of two numbers, a float if one of them is."""
    chosen = _of_symbols("sym_max", a, b)
    return _promoted(builtins.max(a, b), a, b) if chosen is None else chosen


@overridable
def sym_min(a: Number, b: Number) -> Any:
    """The smaller of two numbers, a float if one of them is."""
    chosen = _of_symbols("sym_min", a, b)
    return _promoted(builtins.min(a, b), a, b) if chosen is None else chosen


def _of_symbols(name: str, a: Number, b: Number) -> Any:
    known = a if is_symbolic(a) else b
    return known.node.operate(name, a, b) if is_symbolic(known) else None


@overridable
def sym_sum(args: Sequence[Any]) -> Any:
    """The sum."""
    for number in args:
        if is_symbolic(number):
            return number.node.sum_of(args)
    return builtins.sum(args)


def _of_numbers(name: str) -> Callable[[Number], Any]:
    """``torch._sym_sin`` and its kin: a function of `math`, of numbers, that overrides are told of."""
    compute = getattr(math, name)

    def function(a: Number) -> Any:
        return sym_float(a).node.unary(f"sym_{name}") if is_symbolic(a) else compute(a)

    function.__name__ = function.__qualname__ = f"_sym_{name}"
    function.__doc__ = f"``math.{name}(a)``."
    return overridable(function)


_sym_acos, _sym_asin, _sym_atan = _of_numbers("acos"), _of_numbers("asin"), _of_numbers("atan")
_sym_cos, _sym_cosh, _sym_log2 = _of_numbers("cos"), _of_numbers("cosh"), _of_numbers("log2")
_sym_sin, _sym_sinh, _sym_sqrt = _of_numbers("sin"), _of_numbers("sinh"), _of_numbers("sqrt")
_sym_tan, _sym_tanh = _of_numbers("tan"), _of_numbers("tanh")
sym_sqrt = _sym_sqrt


def _promoted(result: Number, a: Number, b: Number) -> Number:
    return float(result) if isinstance(a, float) or isinstance(b, float) else result
