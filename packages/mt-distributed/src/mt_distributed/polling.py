"""Waiting without blocking: look again and again, soon at first, then leaving the processor to others."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

__all__ = ["poll"]

#: Looks in a row before the processor is offered to others: what is in shared memory comes within some microseconds.
SPINS = 40
#: Seconds of looks with the processor offered in between.
YIELDING = 0.002
#: The shortest and the longest sleep after that.
SLEEPS = (0.00005, 0.001)

_offer = getattr(os, "sched_yield", lambda: time.sleep(0))


def poll(done: Callable[[], bool], check: Callable[[], None]) -> None:
    """Return when `done` says so; `check` is called now and then, and raises when it is in vain.

    Parameters
    ----------
    done
        Moves on what is waited for, and says whether it is done.
    check
        Raises for timeouts, deaths and the like.
    """
    for _ in range(SPINS):
        if done():
            return
    end = time.monotonic() + YIELDING
    while time.monotonic() < end:
        _offer()
        if done():
            return
    shortest, longest = SLEEPS
    seconds = shortest
    while not done():
        check()
        time.sleep(seconds)
        seconds = min(longest, 1.2 * seconds)
