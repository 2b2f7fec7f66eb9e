"""What hooks return, and what is refused of it in PyTorch's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core.tensor import Tensor

__all__ = ["checked", "name_of"]


def checked(value: Any, old: Any, hook: Callable[..., Any]) -> Any:
    """What a hook returned in place of a value.

    Raises
    ------
    TypeError, RuntimeError
        For what is no tensor, or one of another type or size.
    """
    if not isinstance(value, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(value).__name__}'")
    if old is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if value.type() != old.type():
        raise RuntimeError(
            f"hook '{name_of(hook)}' has changed the type of value (was {old.type()} got {value.type()})"
        )
    if value.shape != old.shape:
        raise RuntimeError(f"hook '{name_of(hook)}' has changed the size of value")
    return value


def name_of(hook: Callable[..., Any]) -> str:
    """What messages call a hook."""
    return getattr(hook, "__name__", None) or type(hook).__name__
