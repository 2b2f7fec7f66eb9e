"""``torch.multiprocessing``: Python's `multiprocessing`, and `spawn`.

Tensors sent through queues and pipes are not copied: their memory is moved to where both processes see it, and both
read what either writes.
"""

import multiprocessing
import multiprocessing.connection
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403 - everything Python has, by its __all__
from typing import Any

from mt_core.shared_memory import STRATEGIES, set_strategy, strategy

from . import _storage_references as reductions  # noqa: F401  (found as an attribute, as in PyTorch)

__all__ = [
    *multiprocessing.__all__,
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]
__path__: list[str] = []  # the file that PyTorch has below is this one, too


def get_all_sharing_strategies() -> set[str]:
    """The ways in which memory can be shared between processes: as open files, or as files with a name."""
    return set(STRATEGIES)


def get_sharing_strategy() -> str:
    """The way in which memory is shared between processes from now on."""
    return strategy()


def set_sharing_strategy(new_strategy: str) -> None:
    """Share memory another way from now on: "file_descriptor" (the default) or "file_system".

    The first needs an open file for each storage that is shared. The second needs none, but what a process that is
    killed shared stays in ``/dev/shm`` until it is removed.

    Raises
    ------
    AssertionError
        For any other name.
    """
    assert new_strategy in get_all_sharing_strategies()
    set_strategy(new_strategy)


class ProcessExitedException(Exception):
    """A process that `spawn` started ended with an exit status other than 0, or by a signal."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int | None, exit_code: int | None, signal_name: str | None = None
    ) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid
        self.exit_code = exit_code
        self.signal_name = signal_name


class ProcessRaisedException(Exception):
    """A process that `spawn` started ended with an exception."""

    def __init__(self, msg: str, error_index: int, error_pid: int | None) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid


class ProcessContext:
    """The processes that `spawn` started."""

    def __init__(self, processes: list[Any], error_queues: list[Any]) -> None:
        self.processes = processes
        self.error_queues = error_queues

    def pids(self) -> list[int | None]:
        """Their process numbers."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one of them ends; returns whether all of them have.

        When one has failed, the others are ended, after `grace_period` seconds in which they may end by themselves.

        Raises
        ------
        ProcessRaisedException, ProcessExitedException
            When one of them has failed.
        """
        running = [process.sentinel for process in self.processes if process.exitcode is None]
        if running:
            multiprocessing.connection.wait(running, timeout)
        failed = [index for index, process in enumerate(self.processes) if process.exitcode not in (None, 0)]
        if not failed:
            return all(process.exitcode == 0 for process in self.processes)
        self._end(grace_period)
        raise self._failure(failed[0])

    def _end(self, grace_period: float | None) -> None:
        for process in self.processes:
            if grace_period is not None:
                process.join(grace_period)
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join()

    def _failure(self, index: int) -> Exception:
        process, errors = self.processes[index], self.error_queues[index]
        if not errors.empty():
            text = f"\n\n-- Process {index} terminated with the following error:\n{errors.get()}"
            return ProcessRaisedException(text, index, process.pid)
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            return ProcessExitedException(
                f"process {index} terminated with signal {name}", index, process.pid, code, name
            )
        return ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)


def _call(function: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass  # the process that started this one is told too, and reports it
    except BaseException:  # noqa: BLE001 - whatever it is, the process that started this one reports it
        errors.put(traceback.format_exc())
        sys.exit(1)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run ``fn(i, *args)`` in processes numbered from 0.

    Returns
    -------
    ProcessContext or None
        Their context; None with ``join=True``, when they have all ended.

    Raises
    ------
    ProcessRaisedException, ProcessExitedException
        With ``join=True``, when one of them has failed; the others are ended.
    """
    context: Any = multiprocessing.get_context(start_method)
    queues = [context.SimpleQueue() for _ in range(nprocs)]
    processes = [
        context.Process(target=_call, args=(fn, index, args, errors), daemon=daemon)
        for index, errors in enumerate(queues)
    ]
    for process in processes:
        process.start()
    running = ProcessContext(processes, queues)
    if not join:
        return running
    while not running.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """`start_processes`, each in a fresh interpreter."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
