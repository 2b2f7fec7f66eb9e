"""One side of a measurement, a living process: ``python -m tools.bench.worker MODULE THREADS``.

It reads requests from stdin, one JSON list a line, and answers each with one line:

["make", GROUP]        the names of the group's calls; those of the group before are dropped
["time", NAME, MS]     the least seconds of a call, over batches that together take MS milliseconds
["machine", MS]        bytes per second of copies, operations per second of products of single precision

What raises is answered with {"error": its words}.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from tools.bench import groups

__all__ = ["Side", "least"]

#: Bytes of the arrays by which the memory's bandwidth is found, well beyond caches.
_ARRAY = 256 << 20


def _once(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return max(time.perf_counter() - start, 1e-7)


def calls_at_once(call: Callable[[], Any], seconds: float) -> int:
    """How many calls take a third of `seconds`, found while the call grows warm."""
    for _ in range(2):
        call()
    for _ in range(min(200, int(0.01 / _once(call)))):
        call()
    return max(1, int(seconds / 3 / min(_once(call), _once(call))))


def least(call: Callable[[], Any], batch: int, seconds: float) -> float:
    """Seconds per call: the least over batches, of which at least one is run, until `seconds` have passed."""
    fastest, end = float("inf"), time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        for _ in range(batch):
            call()
        now = time.perf_counter()
        fastest = min(fastest, (now - start) / batch)
        if now >= end:
            return fastest


class Side:
    """What answers requests; `torch` is the module that is measured."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.calls: dict[str, Callable[[], Any]] = {}
        self.batches: dict[str, int] = {}

    def make(self, group: str) -> list[str]:
        """The names of a group's calls, in order."""
        self.calls, self.batches = {}, {}
        self.calls = groups.GROUPS[group].make(self.torch)
        return list(self.calls)

    def time(self, name: str, milliseconds: float) -> float:
        """Seconds of a call; the first request of a call warms it up and finds out how many calls make a batch."""
        call, seconds = self.calls[name], milliseconds / 1000
        if name not in self.batches:
            self.batches[name] = calls_at_once(call, seconds)
        return least(call, self.batches[name], seconds)

    def machine(self, milliseconds: float) -> dict[str, float]:
        """What memory and arithmetic of this machine allow, as NumPy finds them."""
        numpy = importlib.import_module("numpy")
        source = numpy.ones(_ARRAY // 4, numpy.float32)
        target, square = numpy.empty_like(source), numpy.ones((1024, 1024), numpy.float32)
        seconds = milliseconds / 1000
        return {
            "bytes per second": 2 * _ARRAY / least(lambda: numpy.copyto(target, source), 1, seconds),
            "operations per second": 2 * 1024**3 / least(lambda: square @ square, 1, seconds),
        }

    def answer(self, request: list[Any]) -> Any:
        """The answer to a request, or what it raised; an interrupted process ends."""
        verbs: dict[str, Callable[..., Any]] = {"make": self.make, "time": self.time, "machine": self.machine}
        try:
            return verbs[request[0]](*request[1:])
        except Exception as error:  # noqa: BLE001 - a call that one side cannot carry out is told, not hidden
            return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Answer until stdin ends. What is measured may print: its output goes to stderr."""
    module, threads = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    torch = importlib.import_module(module)
    torch.set_num_threads(int(threads))
    side = Side(torch)
    for line in sys.stdin:
        answers.write(f"{json.dumps(side.answer(json.loads(line)))}\n")
        answers.flush()


if __name__ == "__main__":
    main()
