"""Levels of forward mode and its switch, as ``torch._C`` has them. See `mt_autograd.forward_ad`."""

from __future__ import annotations

from typing import Any

__all__ = ["_enter_dual_level", "_exit_dual_level", "_is_fwd_grad_enabled", "_set_fwd_grad_enabled"]


def _forward_ad() -> Any:
    from mt_autograd import forward_ad  # lazy: programs that only compute do not load the engine

    return forward_ad


def _enter_dual_level() -> int:
    """Open a level of dual tensors; its number. Raises RuntimeError inside of another one."""
    return _forward_ad().enter_dual_level()  # type: ignore[no-any-return]


def _exit_dual_level(level: int) -> None:
    """Close a level. Raises RuntimeError for one that is not the innermost."""
    _forward_ad().exit_dual_level(level=level)


def _is_fwd_grad_enabled() -> bool:
    """Whether tangents are computed in this thread."""
    return _forward_ad()._is_fwd_grad_enabled()  # type: ignore[no-any-return]


def _set_fwd_grad_enabled(enabled: bool) -> None:
    """Switch tangents on or off in this thread."""
    _forward_ad()._switch(enabled)
