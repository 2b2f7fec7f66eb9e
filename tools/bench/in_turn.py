"""Two libraries measured in turn, in slices of milliseconds, by two processes that live side by side.

Whatever else the machine does falls on both; the least time of each call over all its turns is what counts. So ratios
hold on a machine that is not quiet, where whole runs one after the other do not.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tools.bench import groups

__all__ = ["Library", "Measured", "Process", "environment", "measure"]

ROOT = Path(__file__).parents[2]
#: Settings that keep OpenBLAS from looking at the processor.
_UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


class Library(NamedTuple):
    interpreter: str
    module: str
    environment: Mapping[str, str] = {}


class Measured(NamedTuple):
    #: Library -> threads -> "group/name" -> seconds.
    seconds: dict[str, dict[str, dict[str, float]]]
    #: "LIBRARY, threads N, group/name" -> the error that it raised.
    errors: dict[str, str]
    #: What memory and arithmetic allow, where it was asked for.
    machine: dict[str, float]


def environment(threads: int, more: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that measures with so many threads; bytecode is kept, as of an installed library."""
    kept = {name: value for name, value in os.environ.items() if name not in (*_UNSET, "PYTHONDONTWRITEBYTECODE")}
    bytecode = str(Path(tempfile.gettempdir()) / f"bench-bytecode-{os.getuid()}")
    return {
        **kept,
        "PYTHONPYCACHEPREFIX": bytecode,
        "OMP_NUM_THREADS": str(threads),
        "OPENBLAS_NUM_THREADS": str(threads),
        **more,
    }


class Process:
    """A process that measures (`tools.bench.worker`) and is asked line by line."""

    def __init__(self, name: str, library: Library, threads: int) -> None:
        self.name = name
        command = [library.interpreter, "-m", "tools.bench.worker", library.module, str(threads)]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment(threads, library.environment),
        )  # fmt: skip

    def ask(self, *request: Any) -> Any:
        """The answer to a request.

        Raises
        ------
        RuntimeError
            When the process has ended.
        """
        assert self._process.stdin is not None and self._process.stdout is not None, "both are pipes"
        self._process.stdin.write(f"{json.dumps(request)}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended while it was asked for {request} (status {self._process.wait()})")
        return json.loads(line)

    def close(self) -> None:
        """End the process, and wait for it."""
        assert self._process.stdin is not None and self._process.stdout is not None, "both are pipes"
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


@contextlib.contextmanager
def _living(libraries: Mapping[str, Library], threads: int) -> Iterator[list[Process]]:
    processes: list[Process] = []
    try:
        for name, library in libraries.items():
            processes.append(Process(name, library, threads))
        yield processes
    finally:
        for process in processes:
            process.close()


def measure(
    libraries: Mapping[str, Library], only: str, rounds: int, pace: float = 1.0, machine: bool = False
) -> Measured:
    """Measure every call of every group that is asked for.

    Parameters
    ----------
    libraries
        Name -> what is measured under it. What all of them have is measured.
    only
        What `groups.chosen` takes.
    rounds
        How many turns each library has at a call.
    pace
        What the milliseconds of a turn are multiplied by.
    machine
        Whether bandwidth and arithmetic peak are measured too, by the first library's process.
    """
    wanted = {name: group for name, group in groups.GROUPS.items() if groups.may_hold(only, name)}
    all_threads = sorted({count for group in wanted.values() for count in group.threads})
    found = Measured({name: {str(t): {} for t in all_threads} for name in libraries}, {}, {})
    for threads in all_threads:
        with _living(libraries, threads) as processes:
            if machine and threads == all_threads[0]:
                found.machine.update(processes[0].ask("machine", 500 * pace))
            for group, about in wanted.items():
                if threads in about.threads:
                    _measure_group(processes, threads, group, only, rounds, about.turn * pace, found)
    return found


def _measure_group(
    processes: list[Process], threads: int, group: str, only: str, rounds: int, turn: float, found: Measured
) -> None:
    made = [process.ask("make", group) for process in processes]
    for process, names in zip(processes, made, strict=True):
        if isinstance(names, dict):
            found.errors[f"{process.name}, threads {threads}, {group}"] = names["error"]
    if any(isinstance(names, dict) for names in made):
        return
    print(f"threads {threads}: {group}", file=sys.stderr)
    for name in made[0]:
        if not groups.chosen(only, group, name):
            continue
        times = _times(processes, name, rounds, turn)
        for process, seconds in zip(processes, times, strict=True):
            if isinstance(seconds, str):
                found.errors[f"{process.name}, threads {threads}, {group}/{name}"] = seconds
            elif not any(isinstance(other, str) for other in times):
                found.seconds[process.name][str(threads)][f"{group}/{name}"] = seconds


def _times(processes: list[Process], name: str, rounds: int, turn: float) -> list[float | str]:
    """The least seconds of a call by each process, or the words of its error."""
    least: list[float | str] = [float("inf")] * len(processes)
    for _ in range(rounds):
        for number, process in enumerate(processes):
            before = least[number]
            if not isinstance(before, str):
                told = process.ask("time", name, turn)
                least[number] = told["error"] if isinstance(told, dict) else min(before, told)
    return least
