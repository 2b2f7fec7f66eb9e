"""Random numbers in new tensors, by filling a copy."""

from __future__ import annotations

from typing import Any

from ..declarations.random_functional import FILLED
from ..dispatch.registry import find_overload
from ..dispatch.registry import register_composite as composite


def _declare(filling: str, name: str) -> None:
    def filled(self: Any, *args: Any) -> Any:
        return find_overload(filling).call(self.clone(), *args)

    composite(name, explicit=True)(filled)


for _filling, (_name, _) in FILLED.items():
    _declare(_filling, _name)
