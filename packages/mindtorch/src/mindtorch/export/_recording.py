"""The layer of the key ``TRACING``: each operator that a program calls is told to the recorder of its thread.

It stands above autograd and below autocast, so that an operator is told as it was called, and neither its gradient nor
what it is made of.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from threading import get_ident
from types import TracebackType
from typing import Any

from mt_core.dispatch.dispatcher import layer_for, register_layer, withdraw_layer
from mt_core.dispatch.registry import Overload
from mt_core.keys import TRACING
from mt_core.plugins.protocols import CONTRACT
from mt_core.state import excluding, tls
from mt_library.higher_order import recorders as operator_recorders

__all__ = ["Recording"]

Callee = Callable[..., Any]


class _Recorders(threading.local):
    def __init__(self) -> None:
        self.current: Any = None


_recorders = _Recorders()


class TracingLayer:
    """Tells the thread's recorder of a call, after it was carried out below."""

    contract = CONTRACT
    dispatch_key = "TRACING"

    def build(self, overload: Overload, call_keys: int, below: Callable[[], Callee]) -> Callee:
        def run(*args: Any) -> Any:
            with excluding(TRACING):
                result = below()(*args)
            _recorders.current.note(overload, args, result)
            return result

        return run

    def fallback(
        self, overload: Overload, call_keys: int, below: Callable[[], Callee], composite: Callee | None
    ) -> Callee:
        return self.build(overload, call_keys, below)


class _Layer:
    """The layer is there while somebody records: a program that does not may give the key one of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                if layer_for(TRACING) is not None:
                    self._users = 0
                    raise RuntimeError("torch.export needs the dispatch key TRACING, which has another layer")
                register_layer(TRACING, TracingLayer())

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                withdraw_layer(TRACING)


_layer = _Layer()


class Recording:
    """Context manager: operators that this thread calls are told to ``recorder.note(overload, args, result)``.

    Those on functions are left to ``recorder.note_control_flow(operator, args, kwargs)``.
    """

    def __init__(self, recorder: Any) -> None:
        self._recorder = recorder

    def __enter__(self) -> None:
        _layer.enter()
        self._before = _recorders.current
        _recorders.current = self._recorder
        self._told_before = operator_recorders.get(get_ident())
        operator_recorders[get_ident()] = self._recorder.note_control_flow
        tls.include |= TRACING
        tls.refresh()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _recorders.current = self._before
        del operator_recorders[get_ident()]
        if self._told_before is not None:
            operator_recorders[get_ident()] = self._told_before
        if self._before is None:
            tls.include &= ~TRACING
            tls.refresh()
        _layer.leave()
