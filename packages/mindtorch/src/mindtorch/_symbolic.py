"""``torch.sym_int`` and its kin, on ordinary numbers: sizes are never symbolic here."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable
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


def sym_sqrt(a: Number) -> float:
    """The square root."""
    return math.sqrt(a)


def _promoted(result: Number, a: Number, b: Number) -> Number:
    return float(result) if isinstance(a, float) or isinstance(b, float) else result
