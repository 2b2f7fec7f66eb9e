"""The layer of the key `PROFILED`: an event for every operator that a watched thread calls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from mt_autograd.node import next_sequence_nr
from mt_core.dispatch.dispatcher import layer_for, register_layer
from mt_core.dispatch.registry import Overload
from mt_core.keys import AUTOGRAD, PROFILED
from mt_core.plugins.protocols import CONTRACT
from mt_core.state import effective_keys

from ._session import OPERATOR, current

__all__ = ["enter_layer", "next_sequence"]

_entering = threading.Lock()


class ProfilingLayer:
    """Every operator is an event, those that one is written in are events inside of it."""

    contract = CONTRACT
    dispatch_key = "PROFILED"

    def build(self, overload: Overload, call_keys: int, below: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
        """What is below, timed."""
        handled = below()
        name, _, variant = overload.qualified_name.partition(".")
        arguments = overload.schema.arguments
        recorded = bool(effective_keys(call_keys) & AUTOGRAD)

        def run(*values: Any) -> Any:
            session = current()
            if session is None or not session.is_collecting:
                return handled(*values)
            event = session.open(name, OPERATOR)
            if recorded:
                event.sequence = next_sequence()
            if session.settings.capture_overload_names:
                event.overload_name = variant
            session.describe(event, arguments, values)
            try:
                result = handled(*values)
                if session.settings.profile_memory:
                    session.count_results(result, values)
                return result
            finally:
                session.close(event)

        return run

    def fallback(self, overload: Overload, call_keys: int, below: Any, composite: Any) -> Callable[..., Any]:
        """Never asked: `build` has an answer for every operator."""
        return self.build(overload, call_keys, below)


def enter_layer() -> None:
    """Make the layer known to the dispatcher, once in a process."""
    with _entering:
        if layer_for(PROFILED) is None:
            register_layer(PROFILED, ProfilingLayer())


def next_sequence() -> int:
    """The number that the next node of an autograd graph gets."""
    return int(repr(next_sequence_nr.__self__).removeprefix("count(").removesuffix(")"))  # type: ignore[attr-defined]
