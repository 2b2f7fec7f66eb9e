"""Keeps signal handlers from running in the middle of loading.

A handler may call operators, and would meet modules that are half there. Ctrl-C is not among them: it ends the loading,
which starts anew when it is next asked for.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

__all__ = ["held_back"]

#: What ends a program must end what is loaded, and any program that loading starts, too.
_AT_ONCE = {"SIGINT", "SIGQUIT", "SIGTERM"}


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Context manager: signals for this thread wait until it is left. Where the system cannot do that, nothing."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    waiting = {s for s in signal.valid_signals() if not isinstance(s, signal.Signals) or s.name not in _AT_ONCE}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waiting)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
