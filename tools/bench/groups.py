"""Groups of what `tools.bench performance` measures: how their calls are made, how long, and what is to be reached."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

from tools.bench import cases, large_cases, models, small_cases

__all__ = ["GROUPS", "Group", "chosen", "may_hold"]


class Group(NamedTuple):
    #: Makes the calls, by name.
    make: Callable[[ModuleType], dict[str, cases.Case]]
    #: Milliseconds that one side has at a time.
    turn: float
    #: With how many threads it is measured.
    threads: tuple[int, ...]
    #: The geometric mean and the largest of the ratios that are meant to be reached.
    reach: tuple[float, float] | None
    #: How often a call is repeated where instructions are counted.
    repeated: int


def _operators(size: int, grad: bool) -> Callable[[ModuleType], dict[str, cases.Case]]:
    return lambda torch: cases.operators(torch, torch.nn.functional, size, grad)


#: Group -> what it is. Small calls run in the calling thread, however many there are.
GROUPS: dict[str, Group] = {
    **{
        f"{size}x{size}, {'gradient' if grad else 'no gradient'}": Group(
            _operators(size, grad), 12, (1,), (0.8 if grad else 0.7, 1.2), 20
        )
        for size in (4, 64) for grad in (False, True)
    },
    **{f"everyday, {name}": Group(make, 12, (1,), (0.9, 1.5), 20) for name, make in small_cases.EVERYDAY.items()},
    "forward": Group(large_cases.forward, 40, (1, 2), (0.9, 1.3), 1),
    "backward": Group(large_cases.backward, 40, (1, 2), (0.9, 1.3), 1),
    "training step": Group(models.steps, 120, (1, 2), (0.7, 1.0), 1),
    "forward pass": Group(models.passes, 120, (1, 2), (0.7, 1.0), 1),
    "growth": Group(large_cases.growth, 30, (1,), None, 0),
}  # fmt: skip


def may_hold(only: str, group: str) -> bool:
    """Whether a group may hold what is asked for; one that cannot is not even made."""
    wanted, slash, _ = only.partition("/")
    return not slash or group.endswith(wanted)


def chosen(only: str, group: str, name: str) -> bool:
    """Whether a measurement is asked for: `only` is a part of "group/name", or the end of a group, a slash and more."""
    _, slash, rest = only.partition("/")
    return may_hold(only, group) and rest in name if slash else only in f"{group}/{name}"
