"""Thread state around the layer's own work."""

from __future__ import annotations

import threading

from mt_core.dispatch.registry import OVERLOADS
from mt_core.keys import INSTRUMENTED
from mt_core.state import mode_triple, tls
from mt_core.thread_state import carried_over

__all__ = ["is_instrumented", "is_watched", "recording", "set_instrumented", "watch_everywhere"]


class recording:
    """Context manager: grad mode on (or as told), inference mode off, in this thread."""

    __slots__ = ("_enabled", "_previous")

    def __init__(self, enabled: bool = True) -> None:
        self._enabled = enabled

    def __enter__(self) -> None:
        self._previous = (tls.grad_enabled, tls.inference)
        tls.grad_enabled, tls.inference = self._enabled, False
        tls.refresh()

    def __exit__(self, *exc_info: object) -> None:
        tls.grad_enabled, tls.inference = self._previous
        tls.refresh()


class _Reasons(threading.local):
    """Why this thread's recorded calls are watched; several features may ask for it at once."""

    def __init__(self) -> None:
        self.names: set[str] = set()


_reasons = carried_over(_Reasons())


def set_instrumented(reason: str, enabled: bool) -> None:
    """Have autograd use, in this thread, the closures that look for packing hooks; or no longer."""
    (_reasons.names.add if enabled else _reasons.names.discard)(reason)
    tls.include = tls.include | INSTRUMENTED if _reasons.names else tls.include & ~INSTRUMENTED
    tls.refresh()


_watched_everywhere = False


def watch_everywhere(enabled: bool) -> None:
    """Have autograd use those closures in every thread, running ones included; or no longer.

    The mode of another thread cannot be reached. So the closures are made anew, and `is_watched` says how.
    """
    global _watched_everywhere
    if enabled != _watched_everywhere:
        _watched_everywhere = enabled
        for overload in list(OVERLOADS.values()):
            overload.cache.clear()


def is_watched(call_keys: int) -> bool:
    """Whether the closure for these call keys is one that looks for packing hooks and anomaly mode."""
    return _watched_everywhere or bool(mode_triple(call_keys)[0] & INSTRUMENTED)


def is_instrumented() -> bool:
    """Whether packing hooks or anomaly mode may be on in this thread."""
    return _watched_everywhere or bool(_reasons.names)
