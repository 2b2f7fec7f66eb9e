"""Modules of operators whose names begin alike: ``torch.linalg.norm`` is the operator `linalg_norm`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core.api import _functions

__all__ = ["operator_module", "operators_of"]


def operator_module(module: str, prefix: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` for a module that stands for the operators whose names begin with `prefix`."""

    def __getattr__(name: str) -> Any:
        function = None if name.startswith("_") else vars(_functions).get(prefix + name)
        if function is None:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        return function

    def __dir__() -> list[str]:
        return sorted(name.removeprefix(prefix) for name in vars(_functions) if name.startswith(prefix))

    return __getattr__, __dir__


def operators_of(module: str, space: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` for a module that holds a namespace's operators under their own names."""
    names = frozenset(own for _, own in _functions.NAMESPACES[space])

    def __getattr__(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        return getattr(_functions, name)

    return __getattr__, lambda: sorted(names)
