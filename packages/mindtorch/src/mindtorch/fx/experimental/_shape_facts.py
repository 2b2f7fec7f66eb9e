"""What follows from all that is known of symbols, without an example: ranges, equalities, and guards that hold."""

from __future__ import annotations

from typing import Any

from ...utils._sympy._library import sympy
from ...utils._sympy.functions import FloorDiv, PythonMod
from ...utils._sympy.value_ranges import ValueRanges, bound_sympy

__all__ = ["Facts", "solved_for"]

_NEGATED = {
    sympy.Eq: sympy.Ne, sympy.Ne: sympy.Eq, sympy.Lt: sympy.Ge, sympy.Ge: sympy.Lt, sympy.Gt: sympy.Le,
    sympy.Le: sympy.Gt,
}  # fmt: skip


class Facts:
    """Ranges of symbols, what symbols are equal to, and relations that have been relied on.

    Attributes
    ----------
    var_to_range
        Symbol -> `ValueRanges`.
    replacements
        Symbol -> the expression that it equals.
    """

    def __init__(self) -> None:
        self.var_to_range: dict[Any, ValueRanges] = {}
        self.replacements: dict[Any, Any] = {}
        self._true: set[Any] = set()
        self._decided: dict[Any, Any] = {}
        self._replaced: dict[Any, Any] = {}

    def changed(self) -> None:
        """Forget what had been derived."""
        self._decided.clear()
        self._replaced.clear()

    def replace(self, expr: Any) -> Any:
        """An expression with symbols replaced by what they equal."""
        if not self.replacements:
            return expr
        found = self._replaced.get(expr)
        if found is None:
            found = expr
            while found.free_symbols & self.replacements.keys():
                found = found.xreplace({s: self.replacements[s] for s in found.free_symbols if s in self.replacements})
            # xreplace rebuilds with the functions' own rules
            self._replaced[expr] = found
        return found

    def learn(self, relation: Any) -> None:
        """Take a relation, which holds from now on, for known."""
        self._true.add(relation)
        self.changed()

    def decide(self, expr: Any) -> Any:
        """``sympy.true``, ``sympy.false`` or a number where an expression is one whatever the sizes are; else None."""
        expr = self.replace(expr)
        if expr in (sympy.true, sympy.false) or expr.is_number:
            return expr
        if expr not in self._decided:
            self._decided[expr] = self._derived(expr)
        return self._decided[expr]

    def _derived(self, expr: Any) -> Any:
        if isinstance(expr, sympy.core.relational.Relational):
            return self._relation(expr)
        if isinstance(expr, sympy.Not):
            found = self.decide(expr.args[0])
            return None if found is None else sympy.Not(found)
        if isinstance(expr, (sympy.And, sympy.Or)):
            parts = [self.decide(arg) for arg in expr.args]
            decisive = sympy.false if isinstance(expr, sympy.And) else sympy.true
            if decisive in parts:
                return decisive
            return None if None in parts else sympy.Not(decisive)
        if isinstance(expr, sympy.Basic) and expr.is_integer:
            bounds = bound_sympy(expr, self.var_to_range)
            return bounds.lower if bounds.is_singleton() else None
        return None

    def _relation(self, relation: Any) -> Any:
        kind = type(relation)
        for known, answer in ((relation, sympy.true), (_NEGATED[kind](*relation.args), sympy.false)):
            if known in self._true or known.reversed in self._true:
                return answer
        return self._relation_by_range(relation)

    def _relation_by_range(self, relation: Any) -> Any:
        """What a relation is for all values in the ranges of its symbols."""
        kind = type(relation)
        if relation.lhs.is_integer is not True or relation.rhs.is_integer is not True:
            return None
        return _compared(kind, self.difference_bounds(relation.lhs - relation.rhs))

    def difference_bounds(self, difference: Any) -> ValueRanges:
        """The range of an expression that is a difference, whose sides may depend on one symbol."""
        found = bound_sympy(sympy.expand(difference), self.var_to_range)
        # Counted from their least values, symbols are not negative: of `s*t - t`, this tells more than `s*t` and `t`.
        shifted, ranges = {}, dict(self.var_to_range)
        for symbol in difference.free_symbols:
            least = self.var_to_range[symbol].lower if symbol in self.var_to_range else -sympy.oo
            if not least.is_infinite and not _is_inside_function(difference, symbol):
                above = sympy.Dummy(integer=True, nonnegative=True)
                shifted[symbol] = above + least
                ranges[above] = ValueRanges(0, self.var_to_range[symbol].upper - least)
        if not shifted:
            return found
        return found & bound_sympy(sympy.expand(difference.xreplace(shifted)), ranges)


def _is_inside_function(expr: Any, symbol: Any) -> bool:
    return any(symbol in atom.free_symbols for atom in expr.atoms(FloorDiv, PythonMod))


def _compared(kind: Any, bounds: ValueRanges) -> Any:
    """What comparing a difference of integers in a range with 0 gives, where it is the same for all of them."""
    low, high = bounds.lower, bounds.upper
    if kind in (sympy.Eq, sympy.Ne):
        if low > 0 or high < 0:
            return sympy.false if kind is sympy.Eq else sympy.true
        if low == high == 0:
            return sympy.true if kind is sympy.Eq else sympy.false
        return None
    yes, no = {
        sympy.Gt: (low > 0, high <= 0), sympy.Ge: (low >= 0, high < 0), sympy.Lt: (high < 0, low >= 0),
        sympy.Le: (high <= 0, low > 0),
    }[kind]  # fmt: skip
    return sympy.true if yes else sympy.false if no else None


def solved_for(symbol: Any, lhs: Any, rhs: Any) -> Any:
    """The expression that a symbol equals by an equation in which it stands alone, times 1 or -1; else None."""
    difference = sympy.expand(lhs - rhs)
    factor = difference.coeff(symbol, 1)
    if factor not in (1, -1):
        return None
    rest = difference - factor * symbol
    return None if symbol in rest.free_symbols else -rest * factor
