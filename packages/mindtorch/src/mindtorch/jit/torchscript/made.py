"""What compiling an expression gives."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from .types import Type

__all__ = ["Made", "local"]


@dataclass
class Made:
    """A Python expression, and the type of its value."""

    node: ast.expr
    type: Type


def local(name: str) -> str:
    """The Python name of a variable."""
    return f"v_{name}"
