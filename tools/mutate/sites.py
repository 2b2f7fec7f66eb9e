"""Places of a module where a fault can be planted, and the planting."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["Fault", "Place", "describe", "find_places", "first_line", "plant"]

#: The function of what runs while a module is imported.
MODULE = "<module>"

#: Swapped operators.
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or,
    ast.Or: ast.And,
}  # fmt: skip


class Fault(NamedTuple):
    """A change of the `place`-th node of a module's tree, in the order of `ast.walk`.

    `function` is the innermost that the node stands in, with those around it, and `start` the line it begins on.
    """

    path: str
    place: int
    kind: str
    line: int
    before: str
    after: str
    function: str
    start: int


class Place(NamedTuple):
    """A node that has room for a fault, and what it is told by when lines move."""

    place: int
    kind: str
    function: str
    text: str


def find_places(source: str) -> list[Place]:
    """Every fault that a module has room for."""
    tree = ast.parse(source)
    silent, owners = _without_effect(tree), _functions_around(tree)
    return [
        Place(place, kind, owners[id(node)][0], _text(node))
        for place, node in enumerate(ast.walk(tree))
        if id(node) not in silent
        for kind, _ in _changes(node)
    ]


def describe(path: str, source: str, place: int, kind: str) -> Fault:
    """A fault with its line, its function, and the code before and after."""
    tree = ast.parse(source)
    node = list(ast.walk(tree))[place]
    changed = dict(_changes(node))[kind](copy.deepcopy(node))
    function, start = _functions_around(tree)[id(node)]
    return Fault(path, place, kind, getattr(node, "lineno", 0), _text(node), _text(changed), function, start)


Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def _functions_around(tree: ast.Module) -> dict[int, tuple[str, int]]:
    """Of every node, by id, the innermost function whose body it stands in: name and first line."""
    found: dict[int, tuple[str, int]] = {}

    def visit(node: ast.AST, owner: tuple[str, int]) -> None:
        # Operators and contexts (`Add`, `Load`) are one object wherever they occur; they are no places.
        found[id(node)] = owner
        if isinstance(node, Function):
            body = node.body if isinstance(node.body, list) else [node.body]
            inner = (_inner_name(owner[0], node), first_line(node))
            for child in ast.iter_child_nodes(node):
                visit(child, inner if any(child is part for part in body) else owner)
        else:
            within = (f"{owner[0]}.{node.name}", owner[1]) if isinstance(node, ast.ClassDef) else owner
            for child in ast.iter_child_nodes(node):
                visit(child, within)

    visit(tree, (MODULE, 0))
    return found


def _inner_name(outer: str, node: Function) -> str:
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    return f"{outer}.{name}" if outer != MODULE else name


def first_line(node: ast.AST) -> int:
    """The line that the interpreter calls the function's first: that of its first decorator."""
    decorators = getattr(node, "decorator_list", [])
    return min(
        [
            node.lineno,  # type: ignore[attr-defined]
            *(d.lineno for d in decorators),
        ]
    )


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
    if isinstance(node, ast.Call) and len(node.args) == 2 and _order_matters(node):
        yield "arguments", _swap_arguments
    if isinstance(node, ast.Call) and node.keywords and _matters(node.keywords[-1]):
        yield "keyword", _drop_keyword


def _order_matters(call: ast.Call) -> bool:
    """Not of equal arguments, of two texts (names that something is entered under), and of `max` and `min`."""
    first, second = call.args
    if _text(call.func) in ("max", "min"):
        return False
    texts = all(isinstance(a, ast.Constant) and isinstance(a.value, str) for a in (first, second))
    return not texts and ast.dump(first) != ast.dump(second)


def _matters(keyword: ast.keyword) -> bool:
    """Not ``copy=False``, without which the same elements are copied once more."""
    return keyword.arg is not None and not (keyword.arg == "copy" and _text(keyword.value) == "False")


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
