"""Python's syntax, annotations and values as TorchScript has them."""

from __future__ import annotations

import ast
import builtins
import typing
from typing import Any

import mt_core
from mt_core import Tensor, dtypes
from mt_nn.utils.rnn import PackedSequence

from .script_recurrent import PACKED

__all__ = [
    "call_named", "child", "copied", "is_packed_type", "names_of", "parsed", "type_of_value", "type_text", "with_sizes",
]  # fmt: skip


def child(owner: tuple[Any, str], name: str) -> tuple[Any, str]:
    plain = name.isidentifier()
    return owner[0]._modules[name], f"{owner[1]}.{name}" if plain else f'getattr({owner[1]}, "{name}")'


def copied(node: Any) -> Any:
    return ast.parse(ast.unparse(node)).body[0] if isinstance(node, ast.stmt) else parsed(ast.unparse(node))


def parsed(text: str) -> Any:
    return ast.parse(text, mode="eval").body


def call_named(name: str, args: list[Any]) -> ast.Call:
    return ast.Call(parsed(name), args, [])


def with_sizes(call: ast.Call, first: int = 0) -> ast.Call:
    """A call whose sizes are one list, as operators take them."""
    args = call.args[first:]
    if len(args) == 1 and isinstance(args[0], (ast.Tuple, ast.List)):
        call.args[first:] = [ast.List(args[0].elts, ast.Load())]
    elif len(args) > 1 or args and not isinstance(args[0], (ast.Name, ast.Attribute)):
        if not (args and isinstance(args[0], ast.Call) and ast.unparse(args[0]).startswith("torch.size(") and
                len(args[0].args) == 1):  # fmt: skip
            call.args[first:] = [ast.List(args, ast.Load())]
    return call


def names_of(function: Any) -> dict[str, Any]:
    """What a function sees around it."""
    found = {**vars(builtins), **function.__globals__}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {**found, **{name: cell.cell_contents for name, cell in cells}}


_NAMES: dict[Any, str] = {
    Tensor: "Tensor", int: "int", float: "float", bool: "bool", str: "str", complex: "complex", None: "NoneType",
    type(None): "NoneType", mt_core.device: "Device", dtypes.dtype: "int",
}  # fmt: skip


def type_text(hint: Any) -> str | None:
    """An annotation as TorchScript writes it; None where it has no such type."""
    if isinstance(hint, type) and issubclass(hint, Tensor):
        return "Tensor"
    if is_packed_type(hint):
        return PACKED[0]
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is None:
        return _NAMES.get(hint) if hint is None or isinstance(hint, type) else None
    parts = [type_text(arg) for arg in args]
    if None in parts:
        return None
    if type(None) in args:
        rest = [part for part, arg in zip(parts, args, strict=True) if arg is not type(None)]
        return f"Optional[{rest[0]}]" if len(rest) == 1 else None
    name = {list: "List", dict: "Dict", tuple: "Tuple"}.get(origin)
    return None if name is None or Ellipsis in args else f"{name}[{', '.join(map(str, parts))}]"


def is_packed_type(hint: Any) -> bool:
    """Whether a type is that of packed sequences."""
    return isinstance(hint, type) and issubclass(hint, PackedSequence)


def type_of_value(value: Any) -> str | None:
    """The type of an attribute; None where TorchScript has none."""
    if isinstance(value, Tensor):
        return "Tensor"
    if type(value) in _NAMES:
        return _NAMES[type(value)]
    if isinstance(value, (list, tuple)) and value:
        kinds = [type_of_value(item) for item in value]
        if None in kinds:
            return None
        if type(value) is tuple:
            return f"Tuple[{', '.join(map(str, kinds))}]"
        return f"List[{kinds[0]}]" if len(set(kinds)) == 1 else None
    if isinstance(value, dict) and value:
        pairs = {(type_of_value(k), type_of_value(v)) for k, v in value.items()}
        only = next(iter(pairs))
        return f"Dict[{only[0]}, {only[1]}]" if len(pairs) == 1 and None not in only else None
    return None
