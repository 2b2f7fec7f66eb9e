"""Symbolic numbers as PyTorch's schema has them: expressions of sympy, as text, with their values in the example."""

from __future__ import annotations

import math
from typing import Any

from mt_core.symbolic import SymBool, SymFloat, SymInt, plain

__all__ = ["size_to_json", "symbol_ranges", "symbolic_to_json", "values_of"]

Json = dict[str, Any]


def _expression(number: Any) -> str:
    from ...utils._sympy._library import sympy  # late: which is not needed for numbers

    return str(sympy.srepr(number.node.expr))


def size_to_json(size: Any) -> Json:
    """A size, a stride or an offset."""
    size = plain(size)
    if isinstance(size, SymInt):
        return {"as_expr": {"expr_str": _expression(size), "hint": {"as_int": size.node.hint}}}
    return {"as_int": int(size)}


def values_of(number: Any) -> tuple[str, Json]:
    """In which table of a graph a symbolic number is described, and how."""
    hint = number.node.hint
    if isinstance(number, SymInt):
        return "sym_int_values", {"as_expr": {"expr_str": _expression(number), "hint": {"as_int": hint}}}
    if isinstance(number, SymBool):
        return "sym_bool_values", {"as_expr": {"expr_str": _expression(number), "hint": {"as_bool": hint}}}
    if not math.isfinite(hint):
        raise NotImplementedError(f"exported programs cannot be saved with the computed number {hint}")
    return "sym_float_values", {"as_expr": {"expr_str": _expression(number), "hint": {"as_float": hint}}}


def symbolic_to_json(number: Any, name: str) -> Json:
    """The step that computes a symbolic number, as an argument."""
    kind = (
        "as_sym_int" if isinstance(number, SymInt) else "as_sym_bool" if isinstance(number, SymBool) else "as_sym_float"
    )
    assert isinstance(number, (SymInt, SymBool, SymFloat))
    return {kind: {"as_name": name}}


def symbol_ranges(ranges: dict[Any, Any]) -> Json:
    """The ranges of sizes that vary."""
    return {
        str(expr): {
            "min_val": None if known.lower.is_infinite else int(known.lower),
            "max_val": None if known.upper.is_infinite else int(known.upper),
        }
        for expr, known in ranges.items()
    }
