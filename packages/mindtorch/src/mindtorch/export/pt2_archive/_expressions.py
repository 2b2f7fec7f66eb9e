"""Expressions of sympy out of files. Only what is named here is made, and nothing is run."""

from __future__ import annotations

import ast
from typing import Any

from ..._sources import ConstantSource
from ...fx.experimental._shape_env import ShapeEnv
from ...utils._sympy import functions
from ...utils._sympy._library import sympy
from ...utils._sympy.value_ranges import ValueRanges
from ._fields import Field

__all__ = ["Expressions"]

_FUNCTIONS: dict[str, Any] = {
    "Add": sympy.Add, "Mul": sympy.Mul, "Max": functions.Max, "Min": functions.Min,
    **{name: getattr(functions, name) for name in
       "FloorDiv Mod PythonMod IntTrueDiv FloatTrueDiv ToFloat CeilToInt FloorToInt TruncToInt RoundToInt".split()},
}  # fmt: skip
_MOST_DEEP, _MOST_LONG = 40, 4000


class Expressions:
    """The symbols of a file, and what is known of them.

    Parameters
    ----------
    ranges
        Symbol's name -> its least and largest value.
    """

    def __init__(self, ranges: Field) -> None:
        self.env = ShapeEnv(allow_scalar_outputs=False, allow_dynamic_output_shape_ops=False, duck_shape=False)
        self._ranges = ranges
        self._known: dict[str, Any] = {}
        self.range_constraints: dict[Any, ValueRanges] = {}

    def enter(self, graph: Field) -> None:
        """Make the symbols that sizes are by themselves, and then the ranges."""
        for _, tensor in graph["tensor_values"].items():
            for size in (*tensor["sizes"].elements(), *tensor["strides"].elements()):
                self._enter_size(size)
        for name, described in self._ranges.items():
            low, high = described.optional("min_val"), described.optional("max_val")
            found = self._parsed(name, described) if name not in self._known else self._known[name]
            bounds = (-sympy.oo if low is None else low.integer(), sympy.oo if high is None else high.integer())
            if bounds[0] > bounds[1]:
                raise described.error("has no values")
            self.range_constraints[found] = ValueRanges(*bounds)
            if found.is_Symbol:
                low_known = max(bounds[0], 2)
                if low_known > bounds[1]:
                    raise described.error("has no values above 1")
                self.env.var_to_range[found] = ValueRanges(low_known, bounds[1])

    def _enter_size(self, field: Field) -> None:
        kind, value = field.variant()
        if kind != "as_expr":
            return
        expr = self._parsed(value["expr_str"].text(), value)
        hint = value.optional("hint")
        if expr.is_Symbol and hint is not None and expr not in self.env.backed_var_to_val:
            number = hint["as_int"].integer()
            if number < 2:
                raise value.error("has a value below 2 in the example")
            self.env._enter(expr, number, ConstantSource(expr.name), ValueRanges(2, sympy.oo))

    def size(self, field: Field) -> Any:
        """A size, a stride or an offset."""
        kind, value = field.variant()
        if kind == "as_int":
            number = value.integer()
            if number < 0:
                raise value.error(f"is negative: {number}")
            return number
        if kind != "as_expr":
            raise field.error(f"should be a number, but is {kind}")
        return self.number(value, int)

    def number(self, field: Field, kind: type) -> Any:
        """A symbolic number."""
        expr = self._parsed(field["expr_str"].text(), field)
        unknown = expr.free_symbols - self.env.backed_var_to_val.keys()
        if unknown:
            raise NotImplementedError(
                f"torch.export.load: {field.where}: {sorted(map(str, unknown))[0]} is the size of no tensor by itself"
            )
        if expr.is_number:
            return kind(expr)
        return self.env.wrap(expr, kind)

    def _parsed(self, text: str, field: Field) -> Any:
        if len(text) > _MOST_LONG:
            raise field.error("is too long for an expression")
        try:
            parsed = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError) as error:
            raise field.error(f"is no expression: {text[:60]!r}") from error
        return self._made(parsed, field, 0)

    def _made(self, node: Any, field: Field, depth: int) -> Any:
        if depth > _MOST_DEEP:
            raise field.error("is nested too deeply")
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
            left, right = (self._made(side, field, depth + 1) for side in (node.left, node.right))
            if isinstance(node.op, ast.Mult):
                return left * right
            return left + right if isinstance(node.op, ast.Add) else left - right
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return sympy.Integer(node.value)
        if isinstance(node, ast.Name) and node.id in self._known:
            return self._known[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._made(node.operand, field, depth + 1)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "Symbol":
                return self._symbol(node, field)
            args = [self._made(arg, field, depth + 1) for arg in node.args]
            if node.func.id == "Integer" and len(args) == 1:
                return args[0]
            if node.func.id == "Pow" and len(args) == 2 and args[1].is_Integer and 0 <= args[1] <= 16:
                return args[0] ** args[1]
            if node.func.id in _FUNCTIONS and args and not node.keywords:
                try:
                    return _FUNCTIONS[node.func.id](*args)
                except (TypeError, ZeroDivisionError) as error:
                    raise field.error(f"cannot be computed: {error}") from error
        raise NotImplementedError(
            f"torch.export.load: {field.where}: {ast.unparse(node)[:60]} is no size that is known"
        )

    def _symbol(self, node: ast.Call, field: Field) -> Any:
        names = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
        if len(names) != 1 or not isinstance(names[0], str) or not names[0].isidentifier():
            raise field.error("has a symbol without a name")
        if not names[0].startswith("s"):
            raise NotImplementedError(f"torch.export.load: {field.where}: {names[0]} depends on elements")
        return self._known.setdefault(names[0], sympy.Symbol(names[0], integer=True, positive=True))
