"""Operator schemas: the grammar of PyTorch's ``name.overload(Type arg=default, *, ...) -> Type`` and its parser."""

from __future__ import annotations

import ast
import re
from typing import Any

__all__ = ["Argument", "Return", "Schema", "parse_schema", "MISSING"]


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


#: Stands for "no default" and "not given"; None is a legal default.
MISSING: Any = _Missing()


class Argument:
    """One argument of a schema.

    `type` is the base type (``Tensor``, ``int``, ``Scalar``, ``ScalarType`` ...); `is_list` and `size` describe
    ``int[2]``; `optional` the ``?`` after all, `optional_items` a ``?`` before the brackets; `alias` the letter of
    ``(a!)`` and `writes` its exclamation mark.
    """

    __slots__ = (
        "name",
        "type",
        "is_list",
        "size",
        "optional",
        "optional_items",
        "alias",
        "writes",
        "default",
        "kwarg_only",
    )

    def __init__(self, name: str, type_text: str, default: Any, kwarg_only: bool) -> None:
        self.name = name
        self.default = default
        self.kwarg_only = kwarg_only
        self.type, self.is_list, self.size, self.optional, self.optional_items, self.alias, self.writes = _type(
            type_text
        )

    @property
    def is_tensor(self) -> bool:
        return self.type == "Tensor"

    @property
    def type_text(self) -> str:
        """The type as the schema spells it, without alias annotation."""
        brackets = f"[{self.size or ''}]" if self.is_list else ""
        return f"{self.type}{'?' if self.optional_items else ''}{brackets}{'?' if self.optional else ''}"

    def __repr__(self) -> str:
        return f"{self.type_text} {self.name}"


class Return:
    """One result of a schema."""

    __slots__ = ("name", "type", "is_list", "alias", "writes")

    def __init__(self, type_text: str, name: str | None) -> None:
        self.name = name
        self.type, self.is_list, _, _, _, self.alias, self.writes = _type(type_text)


class Schema:
    """A parsed schema: `name` (packet), `overload` (``""`` for default), `arguments`, `returns`."""

    __slots__ = ("name", "overload", "arguments", "returns", "text")

    def __init__(self, name: str, overload: str, arguments: list[Argument], returns: list[Return], text: str) -> None:
        self.name = name
        self.overload = overload
        self.arguments = arguments
        self.returns = returns
        self.text = text

    @property
    def full_name(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def is_mutable(self) -> bool:
        return any(a.writes for a in self.arguments)

    def __str__(self) -> str:
        return self.text


_TYPE = re.compile(
    r"(?P<base>\w+)(?P<inner_alias>\([a-z]\d*(?:!|\s*->\s*\*)?\))?(?P<item>\?)?(?P<list>\[(?P<size>\d*)\])?"
    r"(?P<alias>\([a-z]\d*!?(?:\s*->\s*\*)?\))?(?P<optional>\?)?$"
)


def _type(text: str) -> tuple[str, bool, int | None, bool, bool, str | None, bool]:
    match = _TYPE.match(text.replace("SymInt", "int"))
    if match is None:
        raise ValueError(f"cannot read the type '{text}' in an operator schema")
    is_list = match["list"] is not None
    annotation = match["inner_alias"] or match["alias"] or ""
    optional = bool(match["optional"]) or bool(match["item"]) and not is_list
    size = int(match["size"]) if match["size"] else None
    alias = re.match(r"\w+", annotation[1:])[0] if annotation else None  # type: ignore[index]
    return match["base"], is_list, size, optional, bool(match["item"]) and is_list, alias, "!" in annotation


def split_top_level(text: str) -> list[str]:
    """Split at commas that stand outside brackets and quotes."""
    parts, depth, start, quote = [], 0, 0, ""
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


_WORDS = {"None": None, "True": True, "False": False, "Mean": 1, "Sum": 2}


def _default(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    try:
        value = ast.literal_eval(text)
    except ValueError:
        return text  # a symbol such as contiguous_format, given its meaning by the binder
    return tuple(value) if isinstance(value, list) else value


def parse_schema(text: str) -> Schema:
    """Read a schema.

    Raises
    ------
    ValueError
        Where the text does not follow the grammar; the message quotes the part.
    """
    match = re.match(
        r"(?P<name>[\w:]+)(?:\.(?P<overload>\w+))?\((?P<arguments>.*)\)\s*->\s*(?P<returns>.*)$", text.strip(), re.S
    )
    if match is None:
        raise ValueError(f"not an operator schema: '{text}'")
    arguments, kwarg_only = [], False
    for part in split_top_level(match["arguments"]):
        if part == "*":
            kwarg_only = True
            continue
        declared, equals, default = part.partition("=")
        type_text, _, name = declared.strip().rpartition(" ")
        if not type_text:
            raise ValueError(f"argument '{part}' of schema '{text}' lacks a type or a name")
        arguments.append(Argument(name, type_text, _default(default.strip()) if equals else MISSING, kwarg_only))
    returned = match["returns"].strip()
    inner = returned[1:-1] if returned.startswith("(") else returned
    returns = [_return(part) for part in split_top_level(inner)]
    return Schema(match["name"], match["overload"] or "", arguments, returns, text.strip())


def _return(part: str) -> Return:
    pieces = re.match(r"(\S+(?:\s*->\s*\*\)\S*)?)(?:\s+(\w+))?$", part)
    if pieces is None:
        raise ValueError(f"cannot read the result '{part}' of an operator schema")
    return Return(pieces[1], pieces[2])
