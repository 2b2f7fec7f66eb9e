"""Measures one library in this interpreter: ``python -m tools.bench.measure_large torch`` prints seconds as JSON."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tools.bench import large_cases

__all__ = ["least", "measure"]

#: Bytes of the arrays by which the memory's bandwidth is found, well beyond caches.
_ARRAY = 256 << 20


def least(call: Callable[[], Any], seconds: float) -> float:
    """Seconds per call: the least over batches that together take about `seconds`."""
    for _ in range(2):
        call()
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-7)
    batch = max(1, int(seconds / 10 / once))
    found = []
    for _ in range(max(3, min(9, int(seconds / once / batch)))):
        start = time.perf_counter()
        for _ in range(batch):
            call()
        found.append((time.perf_counter() - start) / batch)
    return min(found)


def machine(seconds: float) -> dict[str, float]:
    """Bytes per second of copies, and operations per second of products of single precision, of this machine."""
    numpy = importlib.import_module("numpy")
    source = numpy.ones(_ARRAY // 4, numpy.float32)
    target, square = numpy.empty_like(source), numpy.ones((1024, 1024), numpy.float32)
    return {
        "machine/bytes per second": 2 * _ARRAY / least(lambda: numpy.copyto(target, source), seconds),
        "machine/operations per second": 2 * 1024**3 / least(lambda: square @ square, seconds),
    }


def measure(torch: ModuleType, only: str, seconds: float) -> dict[str, float]:
    """Group and name of a measurement -> seconds; those whose name lacks `only` are left out.

    Where `only` tells the end of a group's name, as in "backward/conv", others are not even made.
    """
    found = {}
    wanted, slash, _ = only.partition("/")
    for group, make in large_cases.GROUPS.items():
        if slash and not group.endswith(wanted):
            continue
        for name, call in make(torch).items():
            if only in f"{group}/{name}":
                found[f"{group}/{name}"] = least(call, seconds)
    return found


def main() -> None:
    """Print the measurements of the library named in the arguments."""
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=0.25)
    parser.add_argument("--machine", action="store_true", help="bandwidth and arithmetic peak too")
    options = parser.parse_args()
    torch = importlib.import_module(options.module)
    torch.set_num_threads(options.threads)
    found = measure(torch, options.only, options.seconds)
    if options.machine:
        found |= machine(options.seconds)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
