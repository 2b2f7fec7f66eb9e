"""``Library.fallback``: one kernel for all operators at the key of a device."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mt_core.dispatch.registry import register_fallback

__all__ = ["enter", "fallback_at", "withdraw"]

#: ``(overload, call keys)`` -> what carries a call out.
Builder = Callable[..., Any]

#: Dispatch key -> the builder.
_fallbacks: dict[str, Builder] = {}


def fallback_at(key: str) -> Builder | None:
    """The builder for all operators at a key."""
    return _fallbacks.get(key)


def enter(key: str, builder: Builder, core_keys: Iterable[int]) -> None:
    """Have a builder count at a key, which is these keys of the core's.

    Raises
    ------
    RuntimeError
        Where there is one already.
    """
    if key in _fallbacks:
        raise RuntimeError(f"Tried to register multiple backend fallbacks for the same dispatch key {key}")
    _fallbacks[key] = builder
    for core_key in core_keys:
        register_fallback(core_key, builder)


def withdraw(key: str, core_keys: Iterable[int]) -> None:
    """Take the builder of a key away."""
    del _fallbacks[key]
    for core_key in core_keys:
        register_fallback(core_key, None)
