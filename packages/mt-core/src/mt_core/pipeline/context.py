"""``torch.pipeline()``: the part of a program whose calls are put off."""

from __future__ import annotations

import os
from typing import Any

from ..keys import PIPELINE
from ..state import settle, tls
from .describing import take_warnings_again
from .queue import Queue
from .waiting import slots_answer

__all__ = ["pipeline"]


class pipeline:
    """Context manager: calls of operators are described at once, and carried out together later.

    A call raises where it stands, and returns a tensor whose shape, dtype, strides, device and part in differentiation
    are right. Its elements are computed when somebody asks for them, in `flush`, before gradients are computed, and on
    leaving. Pipelines of one thread may be nested and share one queue; leaving any of them flushes it. Inside of a
    transform of ``torch.func`` calls are carried out at once.

    Parameters
    ----------
    debug
        Note where each call was made, so that an error at a flush tells.

    Attributes
    ----------
    queued
        Calls that were described and put off.
    immediate
        Calls that were carried out where they stood, because their results depend on elements, or what they concern
        cannot wait.
    flushes
        How often calls that had been put off were carried out; flushes of an empty queue are not counted.
    dropped
        Calls that were left out, because nobody could have seen their results.
    fused
        Calls that a backend carried out joined with others.
    """

    __slots__ = ("debug", "queued", "immediate", "flushes", "dropped", "fused", "_entered")

    def __init__(self, debug: bool = False) -> None:
        if debug.__class__ is not bool:
            raise TypeError(f"pipeline(): argument 'debug' must be bool, not {type(debug).__name__}")
        self.debug = debug
        self.queued = self.immediate = self.flushes = self.dropped = self.fused = 0
        self._entered: list[tuple[Any, int]] = []

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}={getattr(self, name)}" for name in _COUNTS)
        return f"pipeline({counts})"

    def __enter__(self) -> pipeline:
        queue = tls.pipeline
        if queue is None:
            slots_answer.__enter__()
            queue = tls.pipeline = Queue()
        self._entered.append((queue, tls.include & PIPELINE))
        queue.pipelines.append(self)
        if not tls.transforms:
            tls.include |= PIPELINE
            tls.refresh()
        return self

    def __exit__(self, *exc_info: object) -> None:
        queue, included = self._entered[-1]
        if tls.pipeline is not queue:
            raise RuntimeError("a pipeline is left in another thread than it was entered in")
        self._entered.pop()
        try:
            queue.flush()
        finally:
            queue.leave(self)
            tls.include = tls.include & ~PIPELINE | included
            tls.refresh()
            if not queue.pipelines:
                tls.pipeline = None
                slots_answer.__exit__()
                take_warnings_again()

    def flush(self) -> None:
        """Carry out all calls that wait, in order.

        Raises
        ------
        Exception
            What the first call raises that fails; the text names the call. Calls after it are given up, and their
            results raise a RuntimeError that tells why, whenever their elements are asked for.
        """
        for queue, _ in self._entered[-1:]:
            queue.flush()


_COUNTS = ("queued", "immediate", "flushes", "dropped", "fused")

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=settle)
