"""``torch.utils._sympy.value_ranges``: between which numbers the value of an expression lies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._library import sympy
from .functions import FloorDiv, Max, Min, PythonMod, ToFloat

__all__ = ["ValueRanges", "bound_sympy"]

_oo = sympy.oo


class ValueRanges:
    """All numbers from `lower` to `upper`, both included.

    Attributes
    ----------
    lower, upper
        Numbers of sympy, infinite where there is no bound.
    is_int, is_float
        Whether they are integers, or floats.
    """

    __slots__ = ("lower", "upper", "is_int", "is_bool", "is_float")

    def __init__(self, lower: Any, upper: Any) -> None:
        self.lower, self.upper = sympy.sympify(lower), sympy.sympify(upper)
        if not self.lower <= self.upper:
            raise ValueError(f"Invalid ranges [{self.lower}:{self.upper}]")
        self.is_bool = False
        self.is_float = bool(self.lower.is_Float or self.upper.is_Float)
        self.is_int = not self.is_float

    @classmethod
    def unknown_int(cls) -> ValueRanges:
        """All integers."""
        return cls(-_oo, _oo)

    unknown = unknown_int

    @classmethod
    def wrap(cls, value: Any) -> ValueRanges:
        """One number, or a range as it is."""
        return value if isinstance(value, ValueRanges) else cls(value, value)

    def __contains__(self, value: Any) -> bool:
        return bool(self.lower <= value <= self.upper)

    def __and__(self, other: Any) -> ValueRanges:
        other = ValueRanges.wrap(other)
        return ValueRanges(max(self.lower, other.lower), min(self.upper, other.upper))

    def issubset(self, other: ValueRanges) -> bool:
        """Whether each of its numbers is one of another's."""
        return bool(other.lower <= self.lower and self.upper <= other.upper)

    def is_singleton(self) -> bool:
        """Whether it is one number."""
        return bool(self.lower == self.upper)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ValueRanges) and (self.lower, self.upper) == (other.lower, other.upper)

    def __hash__(self) -> int:
        return hash((self.lower, self.upper))

    def __repr__(self) -> str:
        return f"VR[{_written(self.lower, self.is_float)}, {_written(self.upper, self.is_float)}]"


def _written(bound: Any, is_float: bool) -> str:
    if bound.is_infinite:
        return ("-" if bound < 0 else "") + ("oo" if is_float else "int_oo")
    return str(bound)


Bounds = tuple[Any, Any]
_EVERYTHING: Bounds = (-_oo, _oo)


def bound_sympy(expr: Any, ranges: Mapping[Any, ValueRanges] | None = None) -> ValueRanges:
    """The range of an expression, as narrow as the ranges of its symbols tell.

    Parameters
    ----------
    ranges
        Symbol -> its range; of others, only what sympy assumes is known.
    """
    return ValueRanges(*_bounds(sympy.sympify(expr), ranges or {}))


def _bounds(expr: Any, ranges: Mapping[Any, ValueRanges]) -> Bounds:
    if expr.is_number:
        return (expr, expr) if expr.is_extended_real else _EVERYTHING
    if expr.is_Symbol:
        known = ranges.get(expr)
        if known is not None:
            return known.lower, known.upper
        return (1 if expr.is_positive else 0, _oo) if expr.is_nonnegative else _EVERYTHING
    rule = next((rule for kind, rule in _RULES if isinstance(expr, kind)), None)
    if rule is not None:
        return rule(expr, [_bounds(arg, ranges) for arg in expr.args])  # type: ignore[no-any-return]
    return (sympy.Integer(0), _oo) if expr.is_nonnegative else _EVERYTHING


def _product(a: Any, b: Any) -> Any:
    return sympy.Integer(0) if a == 0 or b == 0 else a * b


def _times(one: Bounds, other: Bounds) -> Bounds:
    corners = [_product(a, b) for a in one for b in other]
    return min(corners), max(corners)


def _add(expr: Any, parts: list[Bounds]) -> Bounds:
    return sum(low for low, _ in parts), sum(high for _, high in parts)


def _mul(expr: Any, parts: list[Bounds]) -> Bounds:
    found = parts[0]
    for part in parts[1:]:
        found = _times(found, part)
    return found


def _pow(expr: Any, parts: list[Bounds]) -> Bounds:
    (low, high), exponent = parts[0], expr.args[1]
    if exponent.is_Integer and exponent > 0 and low >= 0:
        return low**exponent, high**exponent
    return _EVERYTHING


def _floor_div(expr: Any, parts: list[Bounds]) -> Bounds:
    (low, high), (least, most) = parts
    if least <= 0:
        return _EVERYTHING
    quotients = [sympy.Integer(0) if b.is_infinite and not a.is_infinite and a >= 0 else _floor(a, b)
                 for a in (low, high) for b in (least, most)]  # fmt: skip
    return min(quotients), max(quotients)


def _floor(a: Any, b: Any) -> Any:
    if a.is_infinite:
        return a
    return sympy.Integer(-1) if b.is_infinite else sympy.floor(a / b)


def _mod(expr: Any, parts: list[Bounds]) -> Bounds:
    (low, high), (least, most) = parts
    if least <= 0:
        return _EVERYTHING
    return sympy.Integer(0), min(most - 1, high) if low >= 0 else most - 1


_RULES: tuple[tuple[Any, Any], ...] = (
    (sympy.Add, _add),
    (sympy.Mul, _mul),
    (sympy.Pow, _pow),
    (FloorDiv, _floor_div),
    (PythonMod, _mod),
    (Max, lambda expr, parts: (max(low for low, _ in parts), max(high for _, high in parts))),
    (Min, lambda expr, parts: (min(low for low, _ in parts), min(high for _, high in parts))),
    (ToFloat, lambda expr, parts: parts[0]),
)
