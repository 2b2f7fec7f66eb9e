"""How many steps a call of an archive's code may take, so that code from elsewhere comes to an end.

A step is a round of a loop or a call of a function. Functions cannot call themselves, so that the calls that a function
makes outside of loops are counted when it is compiled; loops count while they run.
"""

from __future__ import annotations

import threading
from typing import Any, NoReturn

__all__ = ["DEFAULT", "Body", "Steps", "charge", "loop_limit", "set_loop_limit", "steps"]

DEFAULT = 50_000_000


class Steps(threading.local):
    """What is left to this thread's outermost call, and how deep it is in calls."""

    left = DEFAULT
    depth = 0


steps = Steps()
_limit = DEFAULT


def loop_limit() -> int:
    """How many steps a call may take."""
    return _limit


def set_loop_limit(limit: int) -> int:
    """Have calls of loaded modules end with an error after so many steps (rounds of loops, calls of functions).

    Returns
    -------
    The limit before.

    Raises
    ------
    ValueError
        For what is no positive integer.
    """
    global _limit
    if type(limit) is not int or limit <= 0:
        raise ValueError(f"the limit of steps must be a positive integer, got {limit!r}")
    before, _limit = _limit, limit
    return before


class Body:
    """Code that runs as a whole, a function's or that of a round of a loop: the functions that it calls once each time.

    Attributes
    ----------
    total
        The steps that it takes, once those of its callees are known.
    """

    __slots__ = ("callees", "total")

    def __init__(self) -> None:
        self.callees: list[Any] = []
        self.total = 1

    def add_up(self) -> None:
        """Find `total`, of callees that are ready."""
        self.total = 1 + sum(callee.cost for callee in self.callees)


def exceeded(*_: Any) -> NoReturn:
    """Raise for a call that takes too many steps."""
    raise RuntimeError(
        f"the program took more than {_limit} steps, which is the limit (torch.jit.set_loop_limit sets another)"
    )


def charge(count: int) -> None:
    """Take steps from what is left."""
    steps.left -= count
    if steps.left < 0:
        exceeded()
