"""An expression of sympy computed again with other numbers in place of its symbols."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

from ... import _symbolic as symbolic
from ...utils._sympy._library import sympy
from ...utils._sympy.functions import FloorDiv, IntTrueDiv, Max, Min, PythonMod, ToFloat

__all__ = ["interpreted"]

_MANY: dict[Any, Any] = {sympy.Add: operator.add, sympy.Mul: operator.mul, Max: symbolic.sym_max, Min: symbolic.sym_min}
_TWO: dict[Any, Any] = {
    FloorDiv: operator.floordiv, PythonMod: operator.mod, IntTrueDiv: operator.truediv, sympy.Pow: operator.pow,
}  # fmt: skip
_ONE: dict[str, Any] = {
    "CeilToInt": math.ceil,
    "FloorToInt": math.floor,
    "TruncToInt": math.trunc,
    "RoundToInt": round,
    "Abs": operator.abs,
}


def interpreted(
    expr: Any, of_symbol: Callable[[Any], Any], note: Callable[[Any, tuple[Any, ...], Any], None] | None = None
) -> Any:
    """The number that an expression is.

    Parameters
    ----------
    of_symbol
        Symbol -> its number.
    note
        Told of each step: (function, arguments, result).

    Raises
    ------
    NotImplementedError
        For a function that has no counterpart in Python here.
    """

    def apply(function: Any, *args: Any) -> Any:
        made = function(*args)
        if note is not None:
            note(function, args, made)
        return made

    def value(part: Any) -> Any:
        if part.is_Symbol:
            return of_symbol(part)
        if part.is_number:
            return int(part) if part.is_Integer else float(part)
        for kind, function in _MANY.items():
            if isinstance(part, kind):
                return functools.reduce(functools.partial(apply, function), map(value, part.args))
        for kind, function in _TWO.items():
            if isinstance(part, kind):
                return apply(function, *map(value, part.args))
        if isinstance(part, ToFloat):
            return apply(symbolic.sym_float, value(part.args[0]))
        if type(part).__name__ in _ONE:
            return apply(_ONE[type(part).__name__], value(part.args[0]))
        raise NotImplementedError(f"{type(part).__name__} of symbolic sizes cannot be computed again")

    return value(expr)
