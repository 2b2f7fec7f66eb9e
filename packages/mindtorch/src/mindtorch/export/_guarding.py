"""What a graph takes for granted of its arguments, compared when it is called."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from typing import Any

from mt_core import Tensor
from mt_core.symbolic import SymInt, plain
from mt_nn import Module

__all__ = ["Guards", "guard_evaluator"]


class Guards(Module):
    """Compares arguments with what a program was exported for.

    Parameters
    ----------
    arguments
        Of each leaf: the text that reads it, and what it was.
    code
        Relations of sizes, as Python code that reads an argument as ``L['name']``.
    ranges
        Symbol, or expression -> the sizes that it may be.
    """

    def __init__(self, arguments: list[tuple[str, Any]], code: list[str], ranges: dict[Any, Any]) -> None:
        super().__init__()
        self._expected = [(source, _facts(leaf)) for source, leaf in arguments]
        self._relations = [(guard_evaluator(text), _as_message(text)) for text in code]
        self._bounds = list(_bounds_of(arguments, ranges))

    def forward(self, *leaves: Any) -> None:
        """Compare the leaves of the arguments.

        Raises
        ------
        AssertionError
            Naming what differs.
        """
        for (source, expected), leaf in zip(self._expected, leaves, strict=True):
            found = _facts(leaf)
            for what in expected:
                if found.get(what, _NOTHING) != expected[what]:
                    raise AssertionError(f"Guard failed: {source}{what} == {expected[what]}")
        for place, dim, low, high in self._bounds:
            size = leaves[place].shape[dim]
            source = self._expected[place][0]
            if low is not None and size < low:
                raise AssertionError(f"Guard failed: {source}.size()[{dim}] >= {low}")
            if high is not None and size > high:
                raise AssertionError(f"Guard failed: {source}.size()[{dim}] <= {high}")
        known = {source: leaf for (source, _), leaf in zip(self._expected, leaves, strict=True)}
        for holds, message in self._relations:
            if not holds(known):
                raise AssertionError(f"Guard failed: {message}")


_NOTHING = object()


def _facts(leaf: Any) -> dict[str, Any]:
    """What a graph takes for granted of a leaf: text that reads it -> value."""
    if not isinstance(leaf, Tensor):
        return {} if leaf is None else {"": leaf}
    sizes = [plain(size) for size in leaf.shape]
    fixed = {f".size()[{i}]": size for i, size in enumerate(sizes) if not isinstance(size, SymInt)}
    return {".dtype": leaf.dtype, ".dim()": leaf.dim(), **fixed, ".device": leaf.device}


def _bounds_of(arguments: list[tuple[str, Any]], ranges: dict[Any, Any]) -> Any:
    """(leaf, dimension, least, most) of the first size that each range is of."""
    open_ranges = dict(ranges)
    for place, (_, leaf) in enumerate(arguments):
        for dim, size in enumerate(leaf.shape if isinstance(leaf, Tensor) else ()):
            size = plain(size)
            known = open_ranges.pop(size.node.expr, None) if isinstance(size, SymInt) else None
            if known is not None:
                # That a size is larger than 1 is what every symbol is taken to be.
                low = None if known.lower <= 2 else int(known.lower)
                yield place, dim, low, None if known.upper.is_infinite else int(known.upper)


def _as_message(text: str) -> str:
    """A relation as it is shown: arguments by their names."""
    shown = ast.unparse(ast.parse(text, mode="eval"))
    return re.sub(r"L\['(\w+)'\]", r"\1", shown)


# Relations are data, of files too: what they may say is written down here, and nothing else is carried out.

_COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
_COMPUTED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Div: operator.truediv, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: lambda a, b: a << _small(b), ast.RShift: operator.rshift,
    ast.Pow: lambda a, b: a ** _small(b),
}  # fmt: skip
_CALLED: dict[str, Callable[..., Any]] = {
    "max": max, "min": min, "abs": abs, "float": float, "int": int, "round": round,
    **{f"math.{name}": getattr(math, name) for name in
       "ceil floor trunc sqrt cos cosh sin sinh tan tanh asin acos atan log2".split()},
}  # fmt: skip
_READ: dict[str, Callable[[Any], Any]] = {
    "size": lambda tensor: tuple(tensor.shape), "stride": lambda tensor: tensor.stride(),
    "storage_offset": lambda tensor: tensor.storage_offset(),
}  # fmt: skip
_MOST = 4096


def _small(value: Any) -> Any:
    if abs(value) > _MOST:
        raise ValueError(f"{value} is too large for an exponent")
    return value


def guard_evaluator(text: str) -> Callable[[dict[str, Any]], bool]:
    """A function of arguments by name that tells whether a relation holds.

    Raises
    ------
    NotImplementedError
        For code that says anything but a relation of sizes.
    """
    try:
        parsed = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotImplementedError(f"the guard {text[:80]!r} is no expression") from error
    _check(parsed, text)

    def holds(arguments: dict[str, Any]) -> bool:
        try:
            return bool(_value(parsed, arguments))
        except ZeroDivisionError:  # of sizes that the program was not traced for
            return False

    return holds


def _check(node: Any, text: str) -> None:
    """Refuse what `_value` has no rule for."""
    allowed = (
        isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
        or isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED
        or isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd, ast.Not))
        or isinstance(node, ast.BoolOp)
        or isinstance(node, ast.Compare) and all(type(op) in _COMPARED for op in node.ops)
        or isinstance(node, ast.Subscript) and _is_size(node)
        or isinstance(node, ast.Call) and not node.keywords and (_name(node.func) in _CALLED or _is_read(node))
        or _argument(node) is not None
    )  # fmt: skip
    if not allowed:
        raise NotImplementedError(f"the guard {text[:80]!r} is no relation of sizes that is known here")
    if _is_read(node) or _argument(node) is not None:
        return
    parts = node.args if isinstance(node, ast.Call) else [node.value] if isinstance(node, ast.Subscript) else None
    for part in ast.iter_child_nodes(node) if parts is None else parts:
        if isinstance(part, ast.expr):
            _check(part, text)


def _name(node: Any) -> str:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _is_read(node: Any) -> bool:
    """Whether it is ``L['x'].size()``, or another method that tells a layout."""
    function = getattr(node, "func", None)
    return (
        isinstance(node, ast.Call) and not node.args and isinstance(function, ast.Attribute)
        and function.attr in _READ and _argument(function.value) is not None
    )  # fmt: skip


def _is_size(node: ast.Subscript) -> bool:
    return _is_read(node.value) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int)


def _argument(node: Any) -> str | None:
    """The text that reads an argument of a program, of ``L['x']['key'][0]``; None of anything else."""
    keys: list[Any] = []
    while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        keys.insert(0, node.slice.value)
        node = node.value
    if not isinstance(node, ast.Name) or node.id != "L" or not keys or not isinstance(keys[0], str):
        return None
    return keys[0] + "".join(f"[{key!r}]" for key in keys[1:])


def _value(node: Any, arguments: dict[str, Any]) -> Any:
    """What an expression is, for arguments by the text that reads them."""
    if isinstance(node, ast.Constant):
        return node.value
    source = _argument(node)
    if source is not None:
        return arguments[source]
    if isinstance(node, ast.BinOp):
        return _COMPUTED[type(node.op)](_value(node.left, arguments), _value(node.right, arguments))
    if isinstance(node, ast.UnaryOp):
        value = _value(node.operand, arguments)
        return not value if isinstance(node.op, ast.Not) else -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BoolOp):
        parts = (_value(part, arguments) for part in node.values)
        return all(parts) if isinstance(node.op, ast.And) else any(parts)
    if isinstance(node, ast.Compare):
        sides = [_value(side, arguments) for side in (node.left, *node.comparators)]
        return all(_COMPARED[type(op)](a, b) for op, a, b in zip(node.ops, sides, sides[1:], strict=False))
    if isinstance(node, ast.Subscript):
        return _value(node.value, arguments)[node.slice.value]  # type: ignore[attr-defined]
    if _is_read(node):
        return _READ[node.func.attr](_value(node.func.value, arguments))
    return _CALLED[_name(node.func)](*[_value(part, arguments) for part in node.args])
