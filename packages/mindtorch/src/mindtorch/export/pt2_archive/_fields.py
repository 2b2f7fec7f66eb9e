"""JSON of unknown origin, read field by field: whatever is not as it should be is an error that says where."""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterator
from typing import Any

__all__ = ["Field", "damaged", "identifier", "parse"]


def damaged(where: str, reason: str) -> RuntimeError:
    """The error for a record that is not as it should be."""
    return RuntimeError(f"the exported program cannot be read: {where} {reason}")


def parse(data: bytes, record: str) -> Field:
    """The JSON of a record.

    Raises
    ------
    RuntimeError
        When it is none.
    """
    try:
        return Field(json.loads(data), record)
    except (ValueError, RecursionError) as error:
        raise damaged(record, f"is no JSON: {error}") from error


class Field:
    """A value, and the path that leads to it."""

    def __init__(self, value: Any, where: str) -> None:
        self.value = value
        self.where = where

    def error(self, reason: str) -> RuntimeError:
        """The error for this value."""
        return damaged(self.where, reason)

    def __getitem__(self, key: str) -> Field:
        """A field that must be there."""
        found = self.get(key)
        if found is None:
            raise self.error(f"has no field {key!r}")
        return found

    def get(self, key: str) -> Field | None:
        """A field, or None where it is left out."""
        held = self._of(dict)
        return Field(held[key], f"{self.where}.{key}") if key in held else None

    def optional(self, key: str) -> Field | None:
        """A field, or None where it is left out or null."""
        found = self.get(key)
        return None if found is None or found.value is None else found

    def items(self) -> Iterator[tuple[str, Field]]:
        """The fields of an object."""
        return ((key, Field(value, f"{self.where}.{key}")) for key, value in self._of(dict).items())

    def elements(self) -> list[Field]:
        """The elements of an array."""
        return [Field(value, f"{self.where}[{index}]") for index, value in enumerate(self._of(list))]

    def variant(self) -> tuple[str, Field]:
        """Which one of a union it is, and what it holds."""
        held = self._of(dict)
        if len(held) != 1:
            raise self.error(f"should have one field, but has {sorted(held)[:5]}")
        ((key, value),) = held.items()
        return key, Field(value, f"{self.where}.{key}")

    def text(self) -> str:
        """A string."""
        return str(self._of(str))

    def boolean(self) -> bool:
        """True or false."""
        return bool(self._of(bool))

    def integer(self) -> int:
        """An integer of 64 bits."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not -(2**63) <= self.value < 2**63:
            raise self.error(f"should be an integer of 64 bits, but is {_shown(self.value)}")
        return self.value

    def number(self) -> float:
        """A floating-point number; those that JSON lacks are words."""
        if self.value in ("Infinity", "-Infinity", "NaN"):
            return float(self.value)
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            raise self.error(f"should be a number, but is {_shown(self.value)}")
        return float(self.value)

    def one_of(self, table: dict[int, Any], what: str) -> Any:
        """What a number stands for."""
        code = self.integer()
        if code not in table:
            raise self.error(f"is the number {code}, which stands for no {what} here")
        return table[code]

    def name(self) -> str:
        """A name of Python's."""
        text = self.text()
        if not identifier(text):
            raise self.error(f"should be a name, but is {_shown(text)}")
        return text

    def _of(self, kind: type) -> Any:
        if not isinstance(self.value, kind):
            raise self.error(f"should be {_KINDS[kind]}, but is {_shown(self.value)}")
        return self.value


_KINDS: dict[type, str] = {dict: "an object", list: "an array", str: "a string", bool: "true or false"}


def identifier(text: str) -> bool:
    """Whether a text can stand for a variable where the text of a graph is run."""
    return text.isidentifier() and text.isascii() and not keyword.iskeyword(text)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
