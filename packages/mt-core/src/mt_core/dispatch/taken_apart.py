"""Which operators a handler of ``__torch_dispatch__`` never sees: those that PyTorch writes in others.

Here other operators are written in others than there, so that what a handler is told of is no matter of our composites:
it is PyTorch's list (``_taken_apart.json``, made by ``tests/snapshots/make_taken_apart.py``).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import derived
from .lookup import composite_of
from .registry import Overload, find_overload

__all__ = ["is_known", "is_taken_apart", "parts_of"]


@functools.cache
def _names() -> dict[str, frozenset[str]]:
    groups = json.loads(Path(__file__).with_name("_taken_apart.json").read_text())
    return {group: frozenset(" ".join(lines).split()) for group, lines in groups.items()}


def is_taken_apart(overload: Overload) -> bool:
    """Whether PyTorch takes an operator apart above all keys, or does not have it."""
    return "::" not in overload.name and overload.name not in _names()["handed over"]


def is_known(name: str) -> bool:
    """Whether PyTorch has an operator: ``"gt.Scalar"``."""
    return any(name in names for names in _names().values())


def parts_of(overload: Overload) -> Callable[..., Any] | None:
    """What carries out an operator that PyTorch takes apart, by others; None of any other, and where nothing does."""
    if not is_taken_apart(overload):
        return None
    composite = composite_of(overload)
    if composite is not None:
        return composite.function
    functional = overload.declaration.functional
    if functional is None:
        return None
    made_of = composite_of(find_overload(functional))
    if made_of is None:
        return None
    if overload.declaration.form == "inplace":
        return derived.inplace_of_composite(find_overload(functional))
    return None
