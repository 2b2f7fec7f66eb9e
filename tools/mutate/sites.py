"""Places of a module where a fault can be planted, and the planting."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["Fault", "describe", "find_places", "plant"]

#: Swapped operators.
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or,
    ast.Or: ast.And,
}  # fmt: skip


class Fault(NamedTuple):
    """A change of the `place`-th node of a module's tree, in the order of `ast.walk`."""

    path: str
    place: int
    kind: str
    line: int
    before: str
    after: str


def find_places(source: str) -> list[tuple[int, str]]:
    """Place and kind of all faults that a module has room for."""
    tree = ast.parse(source)
    silent = _without_effect(tree)
    nodes = enumerate(ast.walk(tree))
    return [(place, kind) for place, node in nodes if id(node) not in silent for kind, _ in _changes(node)]


def describe(path: str, source: str, place: int, kind: str) -> Fault:
    """A fault with its line, and the code before and after."""
    node = list(ast.walk(ast.parse(source)))[place]
    changed = dict(_changes(node))[kind](copy.deepcopy(node))
    return Fault(path, place, kind, getattr(node, "lineno", 0), _text(node), _text(changed))


def plant(source: str, place: int, kind: str) -> ast.Module:
    """The module's tree with that fault."""
    tree = ast.parse(source)
    node = list(ast.walk(tree))[place]
    change = dict(_changes(node))[kind]
    changed = change(copy.deepcopy(node))
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, field, changed)
            elif isinstance(value, list) and any(item is node for item in value):
                value[:] = [changed if item is node else item for item in value]
    return ast.fix_missing_locations(tree)


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(ast.fix_missing_locations(node)).split())


def _without_effect(tree: ast.Module) -> set[int]:
    """Nodes whose change nothing can see: annotations, words of errors, docstrings, names for export and import."""
    silent: set[int] = set()

    def skip(node: ast.AST | None) -> None:
        silent.update(id(inner) for inner in ast.walk(node)) if node is not None else None

    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.JoinedStr)):
            skip(node)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for argument in node.exc.args:
                skip(argument)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            skip(node.returns)
        if isinstance(node, ast.arg):
            skip(node.annotation)
        if isinstance(node, ast.AnnAssign):
            skip(node.annotation)
        if isinstance(node, ast.Assign) and any(_text(t) in ("__all__", "__slots__") for t in node.targets):
            skip(node)
        if isinstance(node, ast.If) and _text(node.test) == "TYPE_CHECKING":
            skip(node)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skip(node)
    return silent


Change = Callable[[ast.AST], ast.AST]


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """The kinds of faults that a node has room for."""
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in SWAPS:
        yield "operator", _swap_operator
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield "comparison", _swap_comparison
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield "sign", lambda n: n.operand  # type: ignore[attr-defined]
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        yield "constant", _change_constant
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        yield "condition", _negate
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) or isinstance(node, (ast.AugAssign, ast.Raise)):
        yield "statement", lambda n: ast.Pass()
    if isinstance(node, ast.Call) and len(node.args) == 2 and ast.dump(node.args[0]) != ast.dump(node.args[1]):
        yield "arguments", _swap_arguments
    if isinstance(node, ast.Call) and node.keywords and node.keywords[-1].arg is not None:
        yield "keyword", _drop_keyword


def _swap_operator(node: ast.AST) -> ast.AST:
    node.op = SWAPS[type(node.op)]()  # type: ignore[attr-defined]
    return node


def _swap_comparison(node: ast.AST) -> ast.AST:
    node.ops[0] = SWAPS[type(node.ops[0])]()  # type: ignore[attr-defined]
    return node


def _change_constant(node: ast.AST) -> ast.AST:
    value = node.value  # type: ignore[attr-defined]
    node.value = not value if isinstance(value, bool) else value + 1  # type: ignore[attr-defined]
    return node


def _negate(node: ast.AST) -> ast.AST:
    node.test = ast.UnaryOp(ast.Not(), node.test)  # type: ignore[attr-defined]
    return node


def _swap_arguments(node: ast.AST) -> ast.AST:
    node.args.reverse()  # type: ignore[attr-defined]
    return node


def _drop_keyword(node: ast.AST) -> ast.AST:
    node.keywords.pop()  # type: ignore[attr-defined]
    return node
