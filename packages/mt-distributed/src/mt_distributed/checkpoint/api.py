"""What is raised where a rank fails to save or load."""

from __future__ import annotations

import traceback

__all__ = ["CheckpointException"]

Failure = tuple[BaseException, traceback.StackSummary]


class CheckpointException(BaseException):
    """Some ranks failed; raised on all of them.

    Parameters
    ----------
    failures
        Rank -> what was raised there, and where.
    """

    def __init__(self, msg: str, failures: dict[int, Failure]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, Failure]:
        """Rank -> what was raised there, and where."""
        return self._failures

    def __str__(self) -> str:
        text = f"CheckpointException ranks:{self._failures.keys()}\n"
        for rank, (error, stack) in self._failures.items():
            text += f"Traceback (most recent call last): (RANK {rank})\n"
            text += "".join(traceback.format_list(stack))
            text += "".join(traceback.format_exception_only(type(error), value=error))
        return text


def failure_of(error: BaseException) -> Failure:
    """An error and where it was raised, as it travels to other ranks."""
    return error, traceback.extract_tb(error.__traceback__)
