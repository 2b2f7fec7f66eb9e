"""``Library.fallback``: one kernel for all operators at a dispatch key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["enter", "fallback_at", "withdraw"]

Kernel = Callable[..., Any]

#: Dispatch key -> kernels, of which the last counts.
_fallbacks: dict[str, list[Kernel]] = {}


def fallback_at(key: str) -> Kernel | None:
    """The kernel for all operators at a key."""
    found = _fallbacks.get(key)
    return found[-1] if found else None


def enter(key: str, kernel: Kernel) -> None:
    """Have a kernel count at a key."""
    _fallbacks.setdefault(key, []).append(kernel)


def withdraw(key: str, kernel: Kernel) -> None:
    """Take a kernel away."""
    _fallbacks[key].remove(kernel)
