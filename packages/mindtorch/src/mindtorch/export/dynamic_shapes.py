"""``torch.export.dynamic_shapes``: which sizes of inputs may vary."""

from __future__ import annotations

import sys
from typing import Any

from mt_core import pytree

from .._unsupported import refusal

__all__ = ["Dim", "check_static", "dims"]


class _Hint:
    """A word about a size that has no name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"DimHint({self.name})"


class Dim:
    """The name of a size that may vary, from `min` to `max`.

    A graph is of one size of its inputs: what is declared to vary is refused by `export`.
    """

    AUTO = _Hint("AUTO")
    DYNAMIC = _Hint("DYNAMIC")
    STATIC = _Hint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        self.min, self.max = 0 if min is None else min, sys.maxsize if max is None else max
        if self.max <= self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={self.min}, max={self.max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name

    def __repr__(self) -> str:
        parts = [repr(self.__name__)]
        parts += [f"min={self.min}"] if self.min else []
        parts += [f"max={self.max}"] if self.max != sys.maxsize else []
        return f"Dim({', '.join(parts)})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """A `Dim` for each name."""
    return tuple(Dim(name, min=min, max=max) for name in names)


def check_static(dynamic_shapes: Any) -> None:
    """Refuse sizes that are to vary.

    Raises
    ------
    NotImplementedError
        For a `Dim`, ``Dim.AUTO`` and ``Dim.DYNAMIC``.
    """
    for leaf in pytree.tree_leaves(dynamic_shapes):
        if isinstance(leaf, Dim) or leaf in (Dim.AUTO, Dim.DYNAMIC):
            raise refusal(
                f"torch.export.export(dynamic_shapes=...) with {leaf!r}",
                "Sizes are numbers: export once for each size.",
            )
