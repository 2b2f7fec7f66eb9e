"""``torch.jit._recursive``: the types of modules that were compiled. Modules stay Python, so there are none."""

from __future__ import annotations

from typing import Any

__all__ = ["ConcreteTypeStore", "concrete_type_store"]


class ConcreteTypeStore:
    """Class of modules -> the types that it was compiled to."""

    def __init__(self) -> None:
        self.type_store: dict[type, list[Any]] = {}
        self.methods_compiled: set[Any] = set()


concrete_type_store = ConcreteTypeStore()
