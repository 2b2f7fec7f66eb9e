"""The table of operators on what is no tensor: name -> function and the type of its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .types import UNKNOWN, Type

__all__ = ["ANYWHERE", "PLAIN", "Entry", "enter", "too_long"]

_MAX_LENGTH = 1 << 26


@dataclass(frozen=True)
class Entry:
    """An operator: what computes it, and the type of the result, which may depend on those of the arguments."""

    function: Callable[..., Any]
    result: Type | Callable[[list[Type]], Type]

    def type_for(self, types: list[Type]) -> Type:
        """The type of the result."""
        return self.result if isinstance(self.result, Type) else self.result(types)


#: Operators that go by these functions unless an argument is a tensor; and those that always do.
PLAIN: dict[str, Entry] = {}
ANYWHERE: dict[str, Entry] = {}


def enter(table: dict[str, Entry], functions: dict[str, Callable[..., Any]], result: Any = UNKNOWN) -> None:
    """Enter functions with results of one type."""
    table.update({name: Entry(function, result) for name, function in functions.items()})


def too_long(length: int) -> None:
    """Refuse to make a text or list that is longer than programs need.

    Raises
    ------
    RuntimeError
    """
    if length > _MAX_LENGTH:
        raise RuntimeError(f"a text or list of {length} items is longer than {_MAX_LENGTH}, which is the most here")
