"""What a thread has switched on: dispatch mode, grad mode, inference mode, default device.

A *mode* is a triple (included keys, excluded keys, flags of new tensors). Each distinct triple is interned to a small
number which stands above the key bits, so that an operator call joins it to its tensors' keys by one ``|`` and needs no
thread-local arithmetic; 0 is the ordinary mode.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import numpy as np

from .keys import AUTOGRAD, INFERENCE, KEY_MASK, WIDTH

Triple = tuple[int, int, int]

_triples: list[Triple] = [(0, 0, 0)]
_codes: dict[Triple, int] = {(0, 0, 0): 0}


def mode_code(include: int, exclude: int, flags: int = 0) -> int:
    """The interned code of a mode, ready to be joined to a key set."""
    triple = (include, exclude, flags)
    code = _codes.get(triple)
    if code is None:
        _triples.append(triple)
        code = _codes[triple] = (len(_triples) - 1) << WIDTH
    return code


def mode_triple(code: int) -> Triple:
    """(included keys, excluded keys, flags) of a mode code or of a coded key set."""
    return _triples[code >> WIDTH]


def effective_keys(coded: int) -> int:
    """The key set that a coded key set stands for: its own bits, plus included, minus excluded ones."""
    include, exclude, _ = _triples[coded >> WIDTH]
    return (coded & KEY_MASK | include) & ~exclude


def _quiet_runner() -> Callable[..., Any]:
    """``run(f, *args)`` that calls f with NumPy's floating-point warnings off, without touching the caller's settings.

    NumPy 2 keeps its error state in a context variable: a private context in which it is switched off costs 10 ns a
    call, `np.errstate` 700. NumPy 1.26 keeps it per thread and must be set and restored.
    """
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        context = copy_context()
        context.run(np.seterr, all="ignore")
        return context.run
    return _run_with_errstate


def _run_with_errstate(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with np.errstate(all="ignore"):
        return function(*args, **kwargs)


class ThreadState(threading.local):
    """One object per thread; `mode` and `quiet` are read on every call."""

    def __init__(self) -> None:
        self.mode = 0
        self.quiet = _quiet_runner()
        self.grad_enabled = True
        self.inference = False
        self.default_device: Any = None
        self.function_modes: list[Any] = []
        self.dispatch_modes: list[Any] = []
        #: Keys and exclusions asked for by mode stacks, kept apart from grad mode so that either may change alone.
        self.include = 0
        self.exclude = 0

    def refresh(self) -> None:
        """Recompute `mode` after any switch has changed."""
        exclude = self.exclude if self.grad_enabled and not self.inference else self.exclude | AUTOGRAD
        self.mode = mode_code(self.include, exclude, INFERENCE if self.inference else 0)


tls = ThreadState()


class excluding:
    """Context manager: leave keys out of dispatch, in this thread."""

    __slots__ = ("_keys", "_previous")

    def __init__(self, keys: int) -> None:
        self._keys = keys

    def __enter__(self) -> None:
        self._previous = tls.exclude
        tls.exclude |= self._keys
        tls.refresh()

    def __exit__(self, *exc_info: object) -> None:
        tls.exclude = self._previous
        tls.refresh()


class including:
    """Context manager: add keys to every dispatch, in this thread."""

    __slots__ = ("_keys", "_previous")

    def __init__(self, keys: int) -> None:
        self._keys = keys

    def __enter__(self) -> None:
        self._previous = tls.include
        tls.include |= self._keys
        tls.refresh()

    def __exit__(self, *exc_info: object) -> None:
        tls.include = self._previous
        tls.refresh()
