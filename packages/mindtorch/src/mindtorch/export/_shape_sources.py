"""Which sizes vary, told otherwise than beside each argument: by tensors, and by further examples."""

from __future__ import annotations

import ast
import inspect
import re
from typing import TYPE_CHECKING, Any

from mt_core import Tensor, pytree
from mt_nn import Module

from ._dims import Dim

if TYPE_CHECKING:
    from .exported_program import ExportedProgram

__all__ = ["AdditionalInputs", "ShapesCollection", "refine_dynamic_shapes_from_suggested_fixes"]


class ShapesCollection:
    """What is said of the sizes of tensors, by tensor: ``shapes[tensor] = {0: dim}`` or ``shapes[tensor][0] = dim``."""

    def __init__(self) -> None:
        self._shapes: dict[int, Any] = {}
        self._tensors: list[Any] = []  # kept, so that an id is of one tensor

    def __setitem__(self, t: Tensor, shape: Any) -> None:
        """Say which sizes of a tensor vary.

        Raises
        ------
        AssertionError
            For what is no tensor, and where something else was said of this one.
        """
        if not isinstance(t, Tensor):
            raise AssertionError(f"Cannot assign shape to non-tensor or non-_IntWrapper type {type(t)}")
        if self._shapes.get(id(t), shape) != shape:
            raise AssertionError(f"Shapes assigned to input do not match: expected {self._shapes[id(t)]}, got {shape}")
        self._tensors.append(t)
        self._shapes[id(t)] = shape

    def __getitem__(self, t: Tensor) -> Any:
        """What is said of a tensor; a new dict where that is nothing yet."""
        self._tensors.append(t)
        return self._shapes.setdefault(id(t), {})

    def __len__(self) -> int:
        """Of how many tensors something is said."""
        return len(self._shapes)

    def dynamic_shapes(self, m: Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        """The same as `torch.export.export` takes it: by parameters, nested as the arguments are.

        Raises
        ------
        ValueError
            For a tensor that is not among the arguments.
        """
        found = set()

        def said_of(value: Any) -> Any:
            if id(value) not in self._shapes:
                return None
            found.add(id(value))
            return self._shapes[id(value)]

        shapes = pytree.tree_map(said_of, _by_parameter(m, args, kwargs))
        if found != set(self._shapes):
            raise ValueError(
                "Some tensors that were assigned shapes were not found in args. Maybe such tensors were copied when "
                "passing them as args? Maybe such tensors are contained in classes that were not registered with "
                "pytree?"
            )
        return shapes


class AdditionalInputs:
    """Further arguments for which a program shall hold: what differs among them varies."""

    def __init__(self) -> None:
        self._examples: list[tuple[tuple[Any, ...], dict[str, Any] | None]] = []

    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        """Add arguments.

        Raises
        ------
        AssertionError
            Where `args` is no tuple, or `kwargs` no dict.
        """
        if type(args) is not tuple:
            raise AssertionError(f"Representative args {args} must be a tuple")
        if kwargs is not None and type(kwargs) is not dict:
            raise AssertionError(f"Representative kwargs {kwargs} must be None or a dict")
        self._examples.append((args, kwargs))

    def dynamic_shapes(self, m: Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        """What `torch.export.export` takes: ``Dim.DYNAMIC`` for sizes and integers that differ, None for others.

        Raises
        ------
        ValueError
            Where other values differ, or arguments are nested otherwise.
        TypeError
            For arguments that the module does not take.
        """
        examples = [_by_parameter(m, *given) for given in [(args, kwargs), *self._examples]]
        return pytree.tree_map(_varying, *examples)

    def verify(self, ep: ExportedProgram) -> None:
        """Call a program with each of the arguments.

        Raises
        ------
        AssertionError
            Naming what it does not hold for.
        """
        module = ep.module()
        for args, kwargs in self._examples:
            module(*args, **(kwargs or {}))


def _by_parameter(m: Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> dict[str, Any]:
    return dict(inspect.signature(m.forward).bind(*args, **(kwargs or {})).arguments)


def _varying(*values: Any) -> Any:
    first = values[0]
    if isinstance(first, Tensor):
        shapes = [tuple(value.shape) for value in values]
        if len({len(shape) for shape in shapes}) > 1:
            raise ValueError(
                f"The following inputs were found to have differing numbers of dimensions: {tuple(shapes)}."
            )
        return tuple(Dim.DYNAMIC if len(set(sizes)) > 1 else None for sizes in zip(*shapes, strict=True))
    if all(value == first for value in values):
        return None
    if all(type(value) is int for value in values):
        return Dim.DYNAMIC
    raise ValueError(
        f"The following inputs were found to have differing values, but they cannot be marked as dynamic: {values}."
    )


# Suggestions of an error


def refine_dynamic_shapes_from_suggested_fixes(msg: str, dynamic_shapes: Any) -> Any:
    """What was said of sizes, changed as the error of an export suggests.

    Parameters
    ----------
    msg
        The error's words, with lines such as ``dx = 4``, ``dx = Dim('dx', max=6)`` and ``dy = dx + 1`` after
        ``Suggested fixes:``.

    Raises
    ------
    AssertionError
        For a name that `dynamic_shapes` has not.
    """
    known: dict[str, Dim] = {}
    is_leaf = lambda value: isinstance(value, Dim)
    for leaf in pytree.tree_leaves(dynamic_shapes, is_leaf=is_leaf):
        if isinstance(leaf, Dim):
            known[leaf.__name__] = leaf
            known.setdefault(leaf.root.__name__, leaf.root)
    fixes: dict[str, int | Dim] = {}
    for name, text in re.findall(r"^\s*(\w+) = (.+?)\s*$", msg.partition("Suggested fixes:")[2], re.MULTILINE):
        if name not in known:
            raise AssertionError(f"shape_fixes key '{name}' not found in name_to_dim or roots")
        fixes[name] = _size_of(ast.parse(text, mode="eval").body, known)

    def refined(leaf: Any) -> Any:
        if not isinstance(leaf, Dim):
            return leaf
        if leaf.__name__ in fixes:
            return fixes[leaf.__name__]
        root = fixes.get(leaf.root.__name__)
        return leaf if root is None else root * leaf.factor + leaf.offset

    return pytree.tree_map(refined, dynamic_shapes, is_leaf=is_leaf)


def _size_of(node: ast.expr, known: dict[str, Dim]) -> Any:
    """What a suggestion says: a number, a `Dim`, or a size that follows from one."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return known[node.id].root if node.id in known else Dim(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        left, right = _size_of(node.left, known), _size_of(node.right, known)
        if isinstance(node.op, ast.Add):
            return left + right
        return left - right if isinstance(node.op, ast.Sub) else left * right
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Dim":
        (name,) = (ast.literal_eval(argument) for argument in node.args)
        return Dim(name, **{str(word.arg): ast.literal_eval(word.value) for word in node.keywords})
    raise AssertionError(f"no size is suggested by {ast.unparse(node)}")
