"""What a thread has switched on: dispatch mode, grad mode, inference mode, default device.

A *key set* is an int of the bits in `mt_core.keys`. A *mode* is the number of a triple (included keys, excluded keys,
flags of new tensors); it stands above the key bits, and 0 is the ordinary mode. *Call keys* are both in one int: the
keys of a call's tensors and the thread's mode, joined by one ``|`` without any thread-local arithmetic. They are what
`Overload.cache` is looked up by; `effective_keys` gives the key set that they stand for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import Any

import numpy as np

from .errors import NoMemory, no_memory
from .keys import AUTOGRAD, GRAD_OFF, INFERENCE, KEY_MASK, MODE_WIDTH, PIPELINE, WIDTH

Triple = tuple[int, int, int]

_MODE_MASK = (1 << MODE_WIDTH) - 1
_triples: list[Triple] = [(0, 0, 0)]
_modes: dict[Triple, int] = {(0, 0, 0): 0}
_interning = threading.Lock()


def intern_mode(include: int, exclude: int, flags: int = 0) -> int:
    """The mode of a triple, ready to be joined to a key set.

    A triple, once interned, keeps its number for the life of the process. The lock is taken for new ones only: a number
    is entered after its triple, so that whoever finds it may use it.
    """
    triple = (include, exclude, flags)
    mode = _modes.get(triple)
    return _intern(triple) if mode is None else mode


def _intern(triple: Triple) -> int:
    with _interning:
        mode = _modes.get(triple)
        if mode is None:
            mode = len(_triples) << WIDTH
            _triples.append(triple)
            _modes[triple] = mode
        return mode


def mode_triple(call_keys: int) -> Triple:
    """(included keys, excluded keys, flags) of a mode or of call keys."""
    return _triples[call_keys >> WIDTH & _MODE_MASK]


def effective_keys(call_keys: int) -> int:
    """The key set that call keys stand for: its own bits, plus included, minus excluded ones."""
    include, exclude, _ = _triples[call_keys >> WIDTH & _MODE_MASK]
    return (call_keys & KEY_MASK | include) & ~exclude


# Floating-point warnings. NumPy 2 keeps its error state in a context variable, NumPy 1.26 per thread. A backend's own
# kernels run in a private context of the thread, in which the variable is set: 10 ns a call. Anybody else's see the
# caller's context, with the variable set for the time of the call: 150 ns.

_NUMPY_CORE: Any = getattr(np, "_core", None)
_ERROR_STATE: ContextVar[Any] | None = getattr(getattr(_NUMPY_CORE, "umath", None), "_extobj_contextvar", None)


def _silent_state() -> Any:
    """NumPy's error state with all floating-point warnings off, as its context variable holds it."""
    assert _ERROR_STATE is not None
    context = copy_context()
    context.run(np.seterr, all="ignore")
    return context[_ERROR_STATE]


def _run_in_state(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    token = _set_state(_SILENT)
    try:
        return function(*args, **kwargs)
    finally:
        _reset_state(token)


def _run_with_errstate(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with np.errstate(all="ignore"):
        return function(*args, **kwargs)


if _ERROR_STATE is not None:
    _SILENT = _silent_state()
    _set_state, _reset_state = _ERROR_STATE.set, _ERROR_STATE.reset
    #: ``run_quietly(f, *args)`` calls f with NumPy's floating-point warnings off, and may be nested.
    run_quietly = _run_in_state
else:
    run_quietly = _run_with_errstate


def _private_runner() -> Callable[..., Any]:
    """``run(f, *args)`` as `run_quietly`, in a context of its own; see `nested` for its one refusal."""
    if _ERROR_STATE is None:
        return _run_with_errstate
    context = copy_context()
    context.run(_ERROR_STATE.set, _SILENT)
    return context.run


def nested(error: Exception, function: Callable[..., Any], *args: Any, **out: Any) -> Any:
    """What a kernel gives that was called while another one ran in this thread (by it, a signal handler, a tracer).

    A context cannot be entered twice: `Context.run` then refuses before anything is called, and the warnings are off
    already. Any other error goes on; that a kernel found no memory is told as PyTorch does.
    """
    if error.__class__ is not RuntimeError and isinstance(error, MemoryError) and not isinstance(error, NoMemory):
        raise no_memory(error) from None
    if error.__traceback__ is not None and error.__traceback__.tb_next is None and "cannot enter context" in str(error):
        return function(*args, **out)
    raise error


class DirectRunner:
    """Runs the kernels of backends that raise no floating-point warnings of NumPy's."""

    @staticmethod
    def run_kernel(function: Callable[..., Any], *args: Any, **out: Any) -> Any:
        return function(*args, **out)


class QuietRunner:
    """Runs kernels that may look at context variables: those that others registered for a backend."""

    run_kernel = staticmethod(run_quietly)


class ThreadState(threading.local):
    """One object per thread; `mode` and `run_kernel` are read on every call."""

    def __init__(self) -> None:
        self.mode = 0
        self.run_kernel = _private_runner()
        self.grad_enabled = True
        self.inference = False
        self.default_device: Any = None
        self.function_modes: list[Any] = []
        #: The transforms of ``torch.func`` that the thread is inside of, the innermost last (`mt_core.transforms`).
        self.transforms: list[Any] = []
        self.dispatch_modes: list[Any] = []
        #: The queue of calls that are put off (`mt_core.pipeline.queue`), None outside of pipelines.
        self.pipeline: Any = None
        #: Keys and exclusions asked for by mode stacks, kept apart from grad mode so that either may change alone.
        self.include = 0
        self.exclude = 0

    def refresh(self) -> None:
        """Recompute `mode` after any switch has changed."""
        exclude = self.exclude
        if self.inference:
            exclude |= AUTOGRAD
        elif not self.grad_enabled and not exclude & AUTOGRAD:
            exclude |= AUTOGRAD | GRAD_OFF
        self.mode = intern_mode(self.include, exclude, INFERENCE if self.inference else 0)


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


# Calls that are put off


def settle() -> None:
    """Carry out what this thread has put off (``torch.pipeline``), because what follows changes what it would do."""
    if tls.pipeline is not None:
        tls.pipeline.flush()


class unqueued:
    """Context manager: what was put off is carried out first, and nothing is put off inside."""

    __slots__ = ("_included",)

    def __enter__(self) -> None:
        self._included = 0
        if tls.pipeline is not None:
            tls.pipeline.flush()
            self._included = tls.include & PIPELINE
            tls.include &= ~PIPELINE
            tls.refresh()

    def __exit__(self, *exc_info: object) -> None:
        if self._included:
            tls.include |= PIPELINE
            tls.refresh()
