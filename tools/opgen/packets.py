"""Declarations grouped under the names that Python sees, and the names of what is generated for them."""

from __future__ import annotations

import keyword
from typing import Any

__all__ = [
    "Packet", "Parameter", "cache_name", "identifier", "is_missing", "packets_of", "python_parameters", "returns_list",
]  # fmt: skip


class Packet:
    """The overloads declared under one name, functional and in-place ones first, ``out=`` forms apart."""

    def __init__(self, name: str, declarations: list[Any]) -> None:
        self.name = name
        self.family = declarations[0].family
        self.all = declarations
        self.callable = [d for d in declarations if d.form != "out"]

    def variant(self, which: str) -> list[Any]:
        """Overloads that Python sees as ``function`` or ``method``."""
        return [d for d in self.callable if which in d.variants]

    @property
    def identifier(self) -> str:
        return f"{_private(self.name)}_packet"


def packets_of(declarations: dict[str, Any]) -> list[Packet]:
    """Packets by name."""
    grouped: dict[str, list[Any]] = {}
    for declaration in declarations.values():
        grouped.setdefault(declaration.schema.name, []).append(declaration)
    return [Packet(name, grouped[name]) for name in sorted(grouped)]


#: Modules of the core that operators share their name with.
_MODULES = frozenset(("random",))


def identifier(name: str) -> str:
    """A schema name as a Python identifier, that is no module's beside it."""
    return name + "_" if keyword.iskeyword(name) or name in _MODULES else name


def cache_name(overload: str) -> str:
    """The module-level name of an overload's kernels."""
    return _private(overload.replace(".", "_")) + "_kernels"


def _private(name: str) -> str:
    """A module-level name for an operator's tables.

    Two leading underscores would be mangled inside the class of methods.
    """
    return f"_aten{name}" if name.startswith("_") else f"_{name}"


class Parameter:
    """A parameter of a wrapper: its Python name, and the schema argument it stands for.

    Attributes
    ----------
    key
        What a caller writes before ``=``; `name` is that as an identifier.
    by_position
        The variable that holds it when it was given by position.
    """

    def __init__(self, key: str, argument: Any) -> None:
        self.key = key
        self.name = identifier(key)
        self.by_position = f"_{self.name}"
        self.argument = argument


def python_parameters(declaration: Any, method: bool) -> list[Parameter]:
    """The Python parameters of an overload: ``self`` is called ``input`` in functions and comes first in methods."""
    found = []
    for argument in declaration.schema.arguments:
        if argument.name != "self" or not argument.is_tensor or argument.is_list:
            found.append(Parameter(argument.name, argument))
        elif method:
            found.insert(0, Parameter("self", argument))
        else:
            found.append(Parameter("input", argument))
    return found


def returns_list(declaration: Any) -> bool:
    """Whether Python hands back the list, the first argument, which is all that an operator writes."""
    arguments = declaration.schema.arguments
    return [i for i, a in enumerate(arguments) if a.writes] == [0] and arguments[0].is_list


def is_missing(value: Any) -> bool:
    """Whether an argument has no default; the declarations are imported anew, so that identity does not tell."""
    return repr(value) == "MISSING"
