"""``OpOverload._schema``: a schema as PyTorch shows it, and what ``torch._C.parse_schema`` gives."""

from __future__ import annotations

import functools
from typing import Any

import mt_core.dtypes
from mt_core.api.arguments import default_of
from mt_core.devices import device
from mt_core.schema import MISSING, Return, Schema
from mt_core.schema import Argument as ParsedArgument

from .schema_reading import Described, ReadSchema, default_text, read
from .schema_types import DeviceObjType, OptionalType, Type

__all__ = ["AliasInfo", "Argument", "FunctionSchema", "default_value", "parsed_schema", "type_text"]

_TYPE_NAMES = {"Scalar": "number", "ScalarType": "int", "Device": "Device", "Layout": "int", "MemoryFormat": "int"}


def type_text(argument: ParsedArgument | Return) -> str:
    """The type as PyTorch's error messages spell it: ``List[int]``, ``Optional[Tensor]``, ``number``."""
    name = _TYPE_NAMES.get(argument.type, argument.type)
    if getattr(argument, "optional_items", False):
        name = f"Optional[{name}]"
    if argument.is_list:
        name = f"List[{name}]"
    return f"Optional[{name}]" if getattr(argument, "optional", False) else name


def default_value(argument: ParsedArgument) -> Any:
    """The default of an argument, or `MISSING`; symbols such as ``float32`` and ``strided`` as what they name."""
    default = argument.default
    if argument.type == "ScalarType" and isinstance(default, str) and hasattr(mt_core.dtypes, default):
        return getattr(mt_core.dtypes, default)
    found = default_of(argument)
    return list(found) if isinstance(found, tuple) else found


class AliasInfo:
    """What a schema says of the memory of a value: the sets that it is in, and whether it is written."""

    def __init__(self, before: list[str], after: list[str], is_write: bool) -> None:
        self.before_set = set(before)
        self.after_set = set(after)
        self.is_write = is_write

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AliasInfo) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(self._facts())

    def _facts(self) -> tuple[Any, ...]:
        return frozenset(self.before_set), frozenset(self.after_set), self.is_write


class Argument:
    """An argument, or a result, of a schema.

    Attributes
    ----------
    name
        Its name; empty of results that have none.
    type, real_type
        The type of its values; and the type that the schema names, which differs for ``ScalarType`` and its like.
    N
        The size of a list that has one.
    alias_info
        What is said of its memory; None where nothing is.
    """

    def __init__(self, described: Described) -> None:
        self._described = described
        self.name: str = described.name or ""
        self.real_type: Type = described.type
        self.type: Type = described.type.stand_in
        self.N: int | None = described.size
        self.kwarg_only: bool = described.kwarg_only
        self.alias_info = _alias_of(described)
        self.is_write: bool = self.alias_info is not None and self.alias_info.is_write
        self.is_out: bool = self.is_write and self.kwarg_only

    @functools.cached_property
    def default_value(self) -> Any:
        """The default; None where there is none."""
        default = self._described.default
        if isinstance(self.real_type, DeviceObjType) and isinstance(default, str):
            return device(default)
        return None if default is MISSING else default

    def has_default_value(self) -> bool:
        """Whether a call may leave the argument out."""
        return self._described.default is not MISSING

    def __str__(self) -> str:
        text = _typed_text(self._described)
        if self.name:
            text += f" {self.name}"
        if self.has_default_value():
            is_device = isinstance(self.real_type, DeviceObjType)
            text += f"={self.default_value if is_device else default_text(self.default_value, self._described)}"
        return text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Argument) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(str(self))

    def _facts(self) -> tuple[Any, ...]:
        return self._named() + (self.real_type, self.default_value, self.has_default_value(), self.kwarg_only)

    def _named(self) -> tuple[Any, ...]:
        return self.name, self.N, self.alias_info

    def replaces(self, old: Argument) -> bool:
        """Whether whoever gives a value for the old argument may give it for this one."""
        if self._named() != old._named() or self.kwarg_only and not old.kwarg_only:
            return False
        if not old.type.isSubtypeOf(self.type):
            return False
        return not old.has_default_value() or self.has_default_value() and self.default_value == old.default_value

    def is_known_to(self, old: Argument) -> bool:
        """Whether whoever knows the old argument understands this one."""
        same_default = self.has_default_value() == old.has_default_value() and self.default_value == old.default_value
        if self._named() != old._named() or not same_default or self.kwarg_only and not old.kwarg_only:
            return False
        return self.type.isSubtypeOf(old.type)


def _alias_of(described: Described) -> AliasInfo | None:
    """The outermost set; where only the elements of a list have one, an empty one that tells if they are written."""
    inner, *outer = described.aliases
    if not outer:
        return None if inner is None else AliasInfo(*inner)
    if outer[-1] is not None:
        return AliasInfo(*outer[-1])
    written = [alias for alias in described.aliases if alias is not None]
    return AliasInfo([], [], any(alias[2] for alias in written)) if written else None


def _typed_text(described: Described) -> str:
    """The type with what is said of its memory: ``Tensor(a!)[]``."""
    found = described.type
    optional = isinstance(found, OptionalType)
    if isinstance(found, OptionalType):
        found = found.inner[0]
    aliases = list(described.aliases)
    suffixes: list[str] = []
    while len(aliases) > 1:
        size = described.size if len(aliases) == 2 and described.size is not None else ""
        suffixes.insert(0, f"[{size}]{_alias_text(aliases.pop())}")
        found = found.inner[0]
        if isinstance(found, OptionalType):
            suffixes.insert(0, "?")
            found = found.inner[0]
    return f"{found.str()}{_alias_text(aliases[0])}{''.join(suffixes)}{'?' if optional else ''}"


def _alias_text(alias: tuple[list[str], list[str], bool] | None) -> str:
    if alias is None:
        return ""
    before, after, writes = alias
    arrow = "" if after == before else f" -> {'|'.join(reversed(after))}"
    return f"({'|'.join(reversed(before))}{'!' if writes else ''}{arrow})"


class FunctionSchema:
    """A schema with its namespace: name, overload, arguments and results.

    Attributes
    ----------
    parsed
        The core's view of the same schema.
    """

    def __init__(self, parsed: Schema) -> None:
        self._parsed: Schema | None = parsed
        self.name = parsed.name if "::" in parsed.name else f"aten::{parsed.name}"
        self.overload_name = parsed.overload

    @property
    def parsed(self) -> Schema:
        assert self._parsed is not None
        return self._parsed

    @functools.cached_property
    def _read(self) -> ReadSchema:
        return read(str(self.parsed))

    @functools.cached_property
    def arguments(self) -> list[Argument]:
        return [Argument(argument) for argument in self._read.arguments]

    @functools.cached_property
    def returns(self) -> list[Argument]:
        return [Argument(result) for result in self._read.returns]

    @property
    def is_mutable(self) -> bool:
        """Whether the operator writes to an argument."""
        return any(argument.is_write for argument in self.arguments)

    @functools.cached_property
    def _text(self) -> str:
        listed: list[str] = []
        for argument in self.arguments:
            if argument.kwarg_only and "*" not in listed:
                listed.append("*")
            listed.append(str(argument))
        if self._read.is_vararg:
            listed.append("...")
        overload = f".{self.overload_name}" if self.overload_name else ""
        return f"{self.name}{overload}({', '.join(listed)}) -> {self._returns_text()}"

    def _returns_text(self) -> str:
        listed = [str(result) for result in self.returns]
        if self._read.is_varret:
            return "..." if not listed else f"({', '.join([*listed, '...'])})"
        return listed[0] if len(listed) == 1 and listed[0][0] != "(" else f"({', '.join(listed)})"

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    # Compatibility

    def _outs_from(self) -> int:
        return next((i for i, argument in enumerate(self.arguments) if argument.is_out), len(self.arguments))

    def _is_alike(self, old: FunctionSchema) -> bool:
        mine, theirs = ((s.name, s.overload_name, s._read.is_vararg, s._read.is_varret, len(s.returns))
                        for s in (self, old))  # fmt: skip
        return mine == theirs

    def is_backward_compatible_with(self, old: FunctionSchema) -> bool:
        """Whether every call of the old schema is one of this, with the same meaning."""
        if not self._is_alike(old) or len(self.arguments) < len(old.arguments):
            return False
        if not all(theirs.replaces(mine) for mine, theirs in zip(self.returns, old.returns)):
            return False
        outs, old_outs = self._outs_from(), old._outs_from()
        if outs < old_outs or any(not argument.has_default_value() for argument in self.arguments[old_outs:outs]):
            return False
        kept = [*self.arguments[:old_outs], *self.arguments[outs:]]
        return len(kept) >= len(old.arguments) and all(map(Argument.replaces, kept, old.arguments))

    def check_forward_compatible_with(self, old: FunctionSchema) -> tuple[bool, str]:
        """(whether whoever knows the old schema can carry out the calls of this one, why not)."""
        if not self._is_alike(old):
            return False, ""
        outs, old_outs = self._outs_from(), old._outs_from()
        if len(self.arguments) - outs != len(old.arguments) - old_outs:
            return False, "Function schema should have the same number of out arguments"
        for mine, theirs in zip(self.arguments[:outs], old.arguments[:old_outs]):
            if not mine.is_known_to(theirs):
                return False, f"'{mine.name}' is not forward compatible with the older version of the schema"
        for added in self.arguments[old_outs:outs]:
            if (why := _why_unknown(added)) is not None:
                return False, f"Function schema is not forward compatible since the new argument '{added.name}' {why}"
        for mine, theirs in zip(self.arguments[outs:], old.arguments[old_outs:]):
            if not mine.is_known_to(theirs):
                return False, f"Out argument ''{mine.name} is not FC with the older version of the schema"
        return True, ""


def _why_unknown(added: Argument) -> str | None:
    if not added.has_default_value():
        return f"of type {added.type.str()} did not provide a default value."
    if isinstance(added.default_value, list):
        return f"of type {added.type.str()} has a container type as its default value."
    return None


class _ParsedSchema(FunctionSchema):
    """A schema that was read from a text, and that no operator has."""

    def __init__(self, text: str) -> None:
        found = read(text)
        self._parsed = None
        self._read = found  # type: ignore[misc]
        self.name = found.name
        self.overload_name = found.overload


def parsed_schema(text: str) -> FunctionSchema:
    """The schema that a text spells.

    Raises
    ------
    RuntimeError
        Where it spells none.
    """
    return _ParsedSchema(text)
