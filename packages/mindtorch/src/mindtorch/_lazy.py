"""Submodules that are imported when first used as attributes of their package."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType

__all__ = ["lazy_submodules"]


def lazy_submodules(package: str, names: str) -> tuple[Callable[[str], ModuleType], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` for a package, given the names of its submodules separated by blanks."""
    submodules = frozenset(names.split())

    def __getattr__(name: str) -> ModuleType:
        if name not in submodules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return importlib.import_module(f"{package}.{name}")

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *submodules})

    return __getattr__, __dir__
