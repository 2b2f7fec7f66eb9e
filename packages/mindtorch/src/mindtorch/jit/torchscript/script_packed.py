"""Which variables of a scripted function hold packed sequences: recurrent modules have a method of its own for them."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import mt_nn
from mt_nn.utils import rnn

from .script_text import is_packed_type, names_of

__all__ = ["PackedVariables"]


class PackedVariables:
    """What a writer of functions knows of packed sequences, statement by statement.

    TorchScript tells by types which method is called. A variable whose type is not told here is taken for a tensor;
    whoever loads the archive refuses it where it is none.
    """

    #: Variables that hold a packed sequence, or one and a state, where the statement is that is written.
    _packed: dict[str, str]

    def _object(self, node: ast.AST) -> tuple[Any, str] | None:
        raise NotImplementedError

    def _is_outside(self, node: ast.AST) -> bool:
        raise NotImplementedError

    def _evaluated(self, node: ast.AST) -> Any:
        raise NotImplementedError

    def _kind(self, node: ast.AST) -> str:
        """``"packed"`` of a packed sequence, ``"pair"`` of one and a state, nothing of anything else."""
        if isinstance(node, ast.Name):
            return self._packed.get(node.id, "")
        if isinstance(node, ast.Subscript):
            first = isinstance(node.slice, ast.Constant) and node.slice.value == 0
            return "packed" if first and self._kind(node.value) == "pair" else ""
        if not isinstance(node, ast.Call):
            return ""
        if (part := self._object(node.func)) is not None:
            return "pair" if self._takes_packed(part[0], node) else ""
        called: Any = None
        if self._is_outside(node.func) and not isinstance(node.func, ast.Call):
            called = self._evaluated(node.func)
        elif isinstance(node.func, ast.Attribute) and (owner := self._object(node.func.value)) is not None:
            called = inspect.getattr_static(type(owner[0]), node.func.attr, None)
        return "packed" if called is rnn.pack_padded_sequence or _returns_packed(called) else ""

    def _takes_packed(self, part: Any, node: ast.Call) -> bool:
        given = node.args[:1] or [keyword.value for keyword in node.keywords if keyword.arg == "input"]
        return isinstance(part, mt_nn.RNNBase) and bool(given) and self._kind(given[0]) == "packed"

    def _held(self, target: ast.AST, value: ast.AST) -> dict[str, str]:
        """What the variables of an assignment hold after it."""
        if isinstance(target, ast.Name):
            return {target.id: self._kind(value)}
        if not isinstance(target, (ast.Tuple, ast.List)):
            return {}
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
            pairs = zip(target.elts, value.elts, strict=True)
            return {name: what for one, own in pairs for name, what in self._held(one, own).items()}
        names = [one.id for one in target.elts if isinstance(one, ast.Name)]
        held = dict.fromkeys(names, "")
        if self._kind(value) == "pair" and isinstance(target.elts[0], ast.Name):
            held[target.elts[0].id] = "packed"
        return held


def _returns_packed(called: Any) -> bool:
    """Whether a function is annotated to return a packed sequence."""
    function = inspect.unwrap(getattr(called, "__wrapped__", called)) if callable(called) else called
    if not inspect.isfunction(function):
        return False
    hint = function.__annotations__.get("return")
    return is_packed_type(names_of(function).get(hint) if isinstance(hint, str) else hint)
