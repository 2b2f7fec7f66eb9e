"""What of a queue is carried out, and how: what nobody sees is left out, and chains go to a backend that fuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .calls import Call, State, run_call
from .fusion import joined

__all__ = ["planned"]


class Single:
    """A step that is one call."""

    __slots__ = ("calls", "state")

    def __init__(self, call: Call) -> None:
        self.calls = [call]
        self.state: State = call.state

    def run(self) -> None:
        run_call(self.calls[0])

    def failed_call(self, error: BaseException) -> Call:
        return self.calls[0]


def planned(calls: list[Call], count: Callable[[str, int], None]) -> list[Any]:
    """The steps that carry calls out; `calls` is empty afterwards."""
    without_unseen(calls, count)
    steps = joined(calls, Single, count)
    calls.clear()
    return steps


def without_unseen(calls: list[Call], count: Callable[[str, int], None]) -> None:
    """Take out of a list the calls whose results nobody has, the last first: what they need may be unseen then too."""
    kept: list[Call] = []
    total = len(calls)
    while calls:
        call = calls.pop()
        if not call.may_be_left_out():
            kept.append(call)
    calls.extend(reversed(kept))
    count("dropped", total - len(calls))
