"""Second names of operators: forwarding to what they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dispatch.registry import DECLARATIONS, Overload, find_overload, load_family, register_composite

__all__ = ["register_aliases"]


def register_aliases(family: str) -> None:
    """Make composites of all declarations of a family that are second names."""
    load_family("mt_core.declarations", family)
    for name, declaration in list(DECLARATIONS.items()):
        if declaration.family == family and declaration.alias_of is not None:
            register_composite(name)(_forward(find_overload(declaration.alias_of)))


def _forward(target: Overload) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        return target.call(*args)

    return call
