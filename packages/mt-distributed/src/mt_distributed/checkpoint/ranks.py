"""Steps that the ranks of a checkpoint take together; where one fails, all raise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .. import distributed_c10d as dist
from .api import CheckpointException, Failure, failure_of

__all__ = ["Ranks", "ranks_of"]


class _Failed:
    """What a rank sends in the place of an answer."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure


def _tried(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except BaseException as error:  # noqa: BLE001 - raised on all ranks as CheckpointException
        return _Failed(failure_of(error))


class Ranks:
    """The ranks that save or load, of which one coordinates.

    Parameters
    ----------
    group
        Their group; None for this process alone.
    """

    def __init__(self, group: Any | None) -> None:
        self.group = group
        self.rank = 0 if group is None else group.rank()
        self.size = 1 if group is None else group.size()
        self.is_coordinator = self.rank == 0

    def gathered(self, answer: Any) -> list[Any]:
        """Every rank's answer, on the coordinator."""
        if self.group is None:
            return [answer]
        answers: list[Any] = [None] * self.size
        dist.gather_object(answer, answers if self.is_coordinator else None, group=self.group, group_dst=0)
        return answers if self.is_coordinator else []

    def told(self, answer: Any) -> Any:
        """What the coordinator has, on every rank."""
        if self.group is None:
            return answer
        box = [answer]
        dist.broadcast_object_list(box, group=self.group, group_src=0)
        return box[0]

    def step(self, name: str, local: Callable[[], Any], together: Callable[[list[Any]], Any]) -> Any:
        """Let each rank do something, the coordinator something with what all gave, and each have what that gave.

        Raises
        ------
        CheckpointException
            Where any rank failed, on all ranks.
        """
        answers = self.gathered(_tried(local))
        outcome: Any = None
        if self.is_coordinator:
            failures = {rank: answer.failure for rank, answer in enumerate(answers) if isinstance(answer, _Failed)}
            outcome = None if failures else _tried(together, answers)
            if isinstance(outcome, _Failed):
                failures[self.rank] = outcome.failure
            if failures:
                outcome = CheckpointException(name, failures)
        outcome = self.told(_Sent(outcome)).value
        if isinstance(outcome, CheckpointException):
            raise outcome
        return outcome

    def each(self, name: str, local: Callable[[], Any]) -> list[Any]:
        """Let each rank do something; what each gave."""
        return self.step(name, local, lambda answers: answers)


class _Sent:
    """An outcome as it travels: an error is taken apart, for its own pickle would lose what is in it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getstate__(self) -> Any:
        value = self.value
        if isinstance(value, CheckpointException):
            return True, value.args[0], value.failures
        return False, value, None

    def __setstate__(self, state: Any) -> None:
        is_error, value, failures = state
        self.value = CheckpointException(value, failures) if is_error else value


def ranks_of(group: Any | None, no_dist: bool, doing: str) -> Ranks:
    """The ranks that save or load: a group, all processes, or this process alone where there is no group."""
    if no_dist or (group is None and not dist.is_initialized()):
        if not no_dist:
            warnings.warn(
                "torch.distributed is disabled, unavailable or uninitialized, assuming the intent is to "
                f"{doing} in a single process.",
                stacklevel=3,
            )
        return Ranks(None)
    return Ranks(dist._get_default_group() if group is None else group)
