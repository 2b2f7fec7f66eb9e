"""``OpOverload._schema``: a schema as PyTorch shows it."""

from __future__ import annotations

from typing import Any

import mt_core.dtypes
from mt_core.api.arguments import default_of
from mt_core.schema import MISSING, Argument, Return, Schema

__all__ = ["FunctionSchema", "SchemaArgument", "default_value", "type_text"]

_TYPE_NAMES = {"Scalar": "number", "ScalarType": "int", "Device": "Device", "Layout": "int", "MemoryFormat": "int"}


def type_text(argument: Argument | Return) -> str:
    """The type as PyTorch's error messages spell it: ``List[int]``, ``Optional[Tensor]``, ``number``."""
    name = _TYPE_NAMES.get(argument.type, argument.type)
    if getattr(argument, "optional_items", False):
        name = f"Optional[{name}]"
    if argument.is_list:
        name = f"List[{name}]"
    return f"Optional[{name}]" if getattr(argument, "optional", False) else name


def default_value(argument: Argument) -> Any:
    """The default of an argument, or `MISSING`; symbols such as ``float32`` and ``strided`` as what they name."""
    default = argument.default
    if argument.type == "ScalarType" and isinstance(default, str) and hasattr(mt_core.dtypes, default):
        return getattr(mt_core.dtypes, default)
    found = default_of(argument)
    return list(found) if isinstance(found, tuple) else found


class SchemaArgument:
    """An argument, or a result, of a schema."""

    def __init__(self, parsed: Argument | Return, default: Any = MISSING) -> None:
        self.name: str | None = parsed.name
        self.type = type_text(parsed)
        self.N = getattr(parsed, "size", None)
        self.kwarg_only: bool = getattr(parsed, "kwarg_only", False)
        self.is_write = parsed.writes
        self.is_out = parsed.writes and self.kwarg_only
        self.alias_set = parsed.alias
        self._default = default

    @property
    def default_value(self) -> Any:
        """The default; None where there is none."""
        return None if self._default is MISSING else self._default

    def has_default_value(self) -> bool:
        """Whether a call may leave the argument out."""
        return self._default is not MISSING


class FunctionSchema:
    """A schema with its namespace: name, overload, arguments and results.

    Attributes
    ----------
    parsed
        The core's view of the same schema.
    """

    def __init__(self, parsed: Schema) -> None:
        self.parsed = parsed
        self.name = parsed.name if "::" in parsed.name else f"aten::{parsed.name}"
        self.overload_name = parsed.overload

    @property
    def arguments(self) -> list[SchemaArgument]:
        return [SchemaArgument(argument, default_value(argument)) for argument in self.parsed.arguments]

    @property
    def returns(self) -> list[SchemaArgument]:
        return [SchemaArgument(result) for result in self.parsed.returns]

    @property
    def is_mutable(self) -> bool:
        """Whether the operator writes to an argument."""
        return self.parsed.is_mutable

    def __str__(self) -> str:
        return str(self.parsed) if "::" in self.parsed.name else f"aten::{self.parsed}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))
