"""``torch.distributed.elastic.multiprocessing.errors``: `record`, which writes down why a rank failed."""

from __future__ import annotations

import functools
import json
import os
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

__all__ = ["ChildFailedError", "ProcessFailure", "record"]

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class ProcessFailure:
    """How a rank ended.

    Attributes
    ----------
    local_rank, pid, exitcode
        Which process, and its exit status; that of one killed by a signal is negative.
    error_file
        The file that `record` wrote, if it did.
    message
        What the file says, or that there is none.
    timestamp
        When that was, in seconds.
    """

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: dict[str, Any] = field(init=False)
    message: str = field(init=False)
    timestamp: int = field(init=False)

    def __post_init__(self) -> None:
        written = Path(self.error_file)
        self.error_file_data = json.loads(written.read_text()) if written.is_file() else {}
        said = self.error_file_data.get("message", "")
        if isinstance(said, dict):
            self.message = said.get("message", "")
            self.timestamp = int(said["extraInfo"]["timestamp"])
        else:
            self.message = str(said)
            self.timestamp = int(time.time())
        if not self.message:
            self.message = (
                f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"
                if (self.exitcode < 0)
                else "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
            )

    def signal_name(self) -> str:
        """The name of the signal that killed the process, or ``<N/A>``."""
        return signal.Signals(-self.exitcode).name if self.exitcode < 0 else "<N/A>"


class ChildFailedError(Exception):
    """Ranks have failed.

    Parameters
    ----------
    name
        The program.
    failures
        What became of each rank that failed, by its number.
    """

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        if not failures:
            raise AssertionError("failures must not be empty")
        self.name, self.failures = name, failures
        super().__init__("\n".join([f"{name} FAILED", *(self._line(rank) for rank in sorted(failures))]))

    def _line(self, rank: int) -> str:
        found = self.failures[rank]
        return (
            f"rank {rank} (local_rank {found.local_rank}): exitcode {found.exitcode} (pid {found.pid}): {found.message}"
        )

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """Number and end of the rank that failed first."""
        rank = min(self.failures, key=lambda rank: self.failures[rank].timestamp)
        return rank, self.failures[rank]


def record(fn: Callable[P, T], error_handler: Any = None) -> Callable[P, T]:
    """A function that, where it raises, first writes the error to the file that ``TORCHELASTIC_ERROR_FILE`` names.

    Parameters
    ----------
    fn
        What is run, such as a script's ``main``.
    error_handler
        Not supported: raises NotImplementedError.
    """
    if error_handler is not None:
        raise NotImplementedError("record(error_handler=) is not supported by mindtorch")

    @functools.wraps(fn)
    def recorded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            _write(error)
            raise

    return recorded


def _write(error: Exception) -> None:
    file = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not file:
        return
    said = {
        "message": f"{type(error).__name__}: {error}",
        "extraInfo": {"py_callstack": "".join(traceback.format_exception(error)), "timestamp": str(int(time.time()))},
    }
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"message": said}))
