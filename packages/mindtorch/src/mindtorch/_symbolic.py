"""``torch.sym_int`` and its kin, on ordinary numbers: sizes are never symbolic here."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable
from typing import Any

from mt_core.overriding import overridable

from ._unsupported import unsupported_class

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

Number = int | float

SymBool = unsupported_class("torch.SymBool", "Sizes are plain Python numbers.")
SymFloat = unsupported_class("torch.SymFloat", "Sizes are plain Python numbers.")
SymInt = unsupported_class("torch.SymInt", "Sizes are plain Python numbers.")


@overridable
def sym_int(a: Number) -> int:
    """`a` cut off towards zero."""
    return int(a)


@overridable
def sym_float(a: Number) -> float:
    """`a` as a float."""
    return float(a)


@overridable
def sym_not(a: Any) -> bool:
    """``not a``."""
    return not a


@overridable
def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """`t` if `b`, else `f`."""
    return t if b else f


@overridable
def sym_max(a: Number, b: Number) -> Number:
    """The larger of two numbers, a float if one of them is."""
    return _promoted(builtins.max(a, b), a, b)


@overridable
def sym_min(a: Number, b: Number) -> Number:
    """The smaller of two numbers, a float if one of them is."""
    return _promoted(builtins.min(a, b), a, b)


@overridable
def sym_sum(args: Iterable[int]) -> int:
    """The sum."""
    return builtins.sum(args)


def _of_numbers(name: str) -> Callable[[Number], float]:
    """``torch._sym_sin`` and its kin: a function of `math`, of numbers, that overrides are told of."""
    compute = getattr(math, name)

    def function(a: Number) -> float:
        return compute(a)  # type: ignore[no-any-return]

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
