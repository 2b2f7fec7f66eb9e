"""Arguments at their defaults: PyTorch does not hand them to a Python kernel, which need not know of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core.schema import MISSING, Schema
from mt_core.tensor import Tensor

from .function_schema import default_value

__all__ = ["defaults_filled", "defaults_left_out"]

Given = tuple[tuple[Any, ...], dict[str, Any]]


def defaults_left_out(schema: Schema) -> Callable[[tuple[Any, ...]], Given]:
    """A function of all arguments in the schema's order to (positional, named) ones as a Python kernel gets them.

    Of positional arguments those at the end are left out that have their default; of the others, each that has.
    """
    defaults = [_plain(default_value(a)) for a in schema.arguments]
    count = sum(not a.kwarg_only for a in schema.arguments)
    named = [(i, a.name) for i, a in enumerate(schema.arguments) if a.kwarg_only]

    def split(args: tuple[Any, ...]) -> Given:
        end = count
        while end and _is_default(args[end - 1], defaults[end - 1]):
            end -= 1
        return args[:end], {name: args[i] for i, name in named if not _is_default(args[i], defaults[i])}

    return split


def _plain(default: Any) -> Any:
    """A default that schemas write as a name (`mt_core.schema.MEAN`), as the number it is."""
    return int(default) if isinstance(default, int) and hasattr(default, "in_python") else default


def _is_default(value: Any, default: Any) -> bool:
    """Whether a value is a default, of its type too: 1.0 and True are not 1."""
    if default is MISSING or isinstance(value, Tensor):
        return False
    if isinstance(default, list):
        return isinstance(value, (list, tuple)) and list(value) == default
    return value.__class__ is default.__class__ and bool(value == default)


def defaults_filled(schema: Schema, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments in the schema's order, of those that `defaults_left_out` gave."""
    rest = schema.arguments[len(args) :]
    return *args, *(kwargs[a.name] if a.name in kwargs else default_value(a) for a in rest)
