"""``torch._subclasses.schema_check_mode``: every operator that a program calls is held to its schema."""

from __future__ import annotations

from typing import Any

from mt_library.schema_check import Aliasing, Mutation, checked_call

from ..utils._python_dispatch import TorchDispatchMode

__all__ = ["Aliasing", "Mutation", "SchemaCheckMode"]


class SchemaCheckMode(TorchDispatchMode):
    """Raises RuntimeError where an operator writes, or shares memory, and its schema does not say so.

    Attributes
    ----------
    ops
        The names of the operators that were called.
    mutated, aliasing
        What they did of what their schemas allow.
    """

    def __init__(self) -> None:
        self.ops: list[str] = []
        self.mutated: list[Mutation] = []
        self.aliasing: list[Aliasing] = []

    def reset_cache(self) -> None:
        """Forget the operators, and what they did."""
        self.ops.clear()
        self.mutated.clear()
        self.aliasing.clear()

    def display_ops(self) -> None:
        """Print the names of the operators."""
        print(*self.ops, sep=",")

    def _found(self, what: Mutation | Aliasing) -> None:
        if isinstance(what, Mutation):
            self.mutated.append(what)
        else:
            self.aliasing.append(what)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.ops.append(func._schema.name)
        return checked_call(func, tuple(args), kwargs or {}, func, self._found)
