"""``torch._guards``: what is being traced, and on which fake tensors."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from mt_core import pytree
from mt_core.python_dispatch import dispatch_modes

from ._subclasses.fake_tensor import FakeTensorMode, maybe_get_fake_mode

__all__ = ["TracingContext", "active_fake_mode", "detect_fake_mode", "tracing"]

_thread = threading.local()


class TracingContext:
    """What a compiler knows while it traces a program: its mode of fake tensors."""

    def __init__(self, fake_mode: FakeTensorMode | None) -> None:
        self.fake_mode = fake_mode

    @staticmethod
    def try_get() -> TracingContext | None:
        """The context of this thread, or None."""
        return getattr(_thread, "context", None)

    @staticmethod
    def get() -> TracingContext:
        """The context of this thread.

        Raises
        ------
        RuntimeError
            Where there is none.
        """
        context = TracingContext.try_get()
        if context is None:
            raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")
        return context


@contextlib.contextmanager
def tracing(context: TracingContext | None) -> Iterator[TracingContext | None]:
    """Inside of it, a context is that of the thread."""
    outer = TracingContext.try_get()
    _thread.context = context
    try:
        yield context
    finally:
        _thread.context = outer


def detect_fake_mode(inputs: Any = None) -> FakeTensorMode | None:
    """The mode of fake tensors that is traced with, is on, or that inputs belong to; None where there is none.

    Raises
    ------
    AssertionError
        Where these are several.
    """
    context = TracingContext.try_get()
    found = [("tracing context", context.fake_mode)] if context is not None and context.fake_mode is not None else []
    found += [("active fake mode", mode) for mode in reversed(dispatch_modes()) if isinstance(mode, FakeTensorMode)]
    for i, value in enumerate(pytree.tree_leaves(inputs)):
        mode = maybe_get_fake_mode(value)
        if mode is not None:
            found.append((f"fake tensor input {i}", mode))
    for described, mode in found[1:]:
        if mode is not found[0][1]:
            raise AssertionError(
                f"fake mode ({found[0][1]}) from {found[0][0]} doesn't match mode ({mode}) from {described}"
            )
    return found[0][1] if found else None


def active_fake_mode() -> FakeTensorMode | None:
    """The mode of fake tensors that is on in this thread, or None."""
    return next((mode for mode in reversed(dispatch_modes()) if isinstance(mode, FakeTensorMode)), None)
