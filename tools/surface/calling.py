"""Calls, each in a child of its own: what one leaves behind, or how it ends, is no other's concern."""

from __future__ import annotations

import json
import os
import select
import signal
import time
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .describing import described
from .values import words

__all__ = ["Outcome", "evaluated", "first_that_works", "outcome_of"]

SECONDS = 10.0
#: ``{"gives": description}``, ``{"raises": type, "says": text}``, or ``{"ends": how the process ended}``.
Outcome = dict[str, Any]


def outcome_of(torch: types.ModuleType, expression: str, seconds: float = SECONDS) -> Outcome:
    """What an expression gives, in a fork of this process."""

    def ask(tell: Callable[[Any], None]) -> None:
        tell(evaluated(torch, expression))

    told, end = _forked(ask, seconds)
    return told[-1] if told else {"ends": end}


def first_that_works(
    torch: types.ModuleType, expressions: Sequence[str], seconds: float = SECONDS
) -> tuple[str, Outcome] | None:
    """The first of several expressions that raises nothing, with its outcome; one that ends the process is passed."""
    start, until = 0, time.monotonic() + seconds
    while start < len(expressions) and time.monotonic() < until:

        def ask(tell: Callable[[Any], None], start: int = start) -> None:
            for place in range(start, len(expressions)):
                tell(place)
                outcome = evaluated(torch, expressions[place])
                if "gives" in outcome:
                    tell(outcome)
                    return

        told, end = _forked(ask, until - time.monotonic())
        if told and isinstance(told[-1], dict):
            return expressions[told[-2]], told[-1]
        if end == "ended" or not told:
            return None
        start = told[-1] + 1
    return None


def evaluated(torch: types.ModuleType, expression: str) -> Outcome:
    """What an expression gives or raises, in this process."""
    torch.manual_seed(0)
    try:
        return {"gives": described(torch, eval(expression, words(torch)))}  # noqa: S307 - our own expressions
    except BaseException as error:  # whatever a call raises is its outcome
        if isinstance(error, KeyboardInterrupt):
            raise
        return {"raises": type(error).__name__, "says": str(error)[:300]}


def _forked(ask: Callable[[Callable[[Any], None]], None], seconds: float) -> tuple[list[Any], str]:
    """What a child told, line by line, and how it ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _be_the_child(ask, reading, writing)
    os.close(writing)
    text, late = _read(reading, time.monotonic() + seconds)
    os.close(reading)
    if late:
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    whole = text.decode("utf-8", "replace").split("\n")[:-1]
    end = "late" if late else "ended" if os.WIFEXITED(status) else f"killed by signal {os.WTERMSIG(status)}"
    return [json.loads(line) for line in whole], end


def _be_the_child(ask: Callable[[Callable[[Any], None]], None], reading: int, writing: int) -> None:
    try:
        os.setsid()
        os.close(reading)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        warnings.simplefilter("ignore")
        ask(lambda told: os.write(writing, (json.dumps(told) + "\n").encode()) and None)
    finally:
        os._exit(0)


def _read(reading: int, until: float) -> tuple[bytes, bool]:
    text = b""
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return text, True
        piece = os.read(reading, 1 << 16)
        if not piece:
            return text, False
        text += piece
