"""Measures one library in this interpreter and prints seconds as JSON: ``python -m tools.bench.measure torch``.

A program of its own, so that the two libraries never share a process.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from tools.bench import cases

SIZES = (4, 64)


def best(call: Callable[[], Any], calls: int, repeats: int) -> float:
    """Seconds per call: the fastest of some batches, after a warm-up."""
    for _ in range(calls // 10 + 1):
        call()
    fastest = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest / calls


def best_of_second(first: Callable[[], Any], second: Callable[[Any], Any], repeats: int) -> float:
    """Seconds of a call that needs the result of another, whose own time does not count."""
    fastest = float("inf")
    for _ in range(repeats):
        prepared = first()
        start = time.perf_counter()
        second(prepared)
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def measure(module: str, only: str, effort: int) -> dict[str, float]:
    """Name of a measurement -> seconds; those whose name lacks `only` are left out."""
    torch = importlib.import_module(module)
    nn, functional = (importlib.import_module(f"{module}.{name}") for name in ("nn", "nn.functional"))
    importlib.import_module(f"{module}.optim")
    torch.set_num_threads(1)
    found = {}
    for size in SIZES:
        for grad in (False, True):
            group = f"{size}x{size}, {'gradient' if grad else 'no gradient'}"
            for name, call in cases.operators(torch, functional, size, grad).items():
                if only in f"{group}/{name}":
                    found[f"{group}/{name}"] = best(call, 1000 if size > 4 else 2000, effort)
    forward, backward = cases.chain(torch)
    step = cases.training_step(torch, nn, functional)
    larger: dict[str, Callable[[], float]] = {
        "larger/chain of 100 forward": lambda: best(forward, 20, 3 * effort),
        "larger/chain of 100 backward": lambda: best_of_second(forward, backward, 60 * effort),
        "larger/tiny BERT training step": lambda: best(step, 2, 2 * effort),
    }
    found.update({name: run() for name, run in larger.items() if only in name})
    return found


def import_time(module: str) -> dict[str, float]:
    """Seconds of the first import in a fresh interpreter."""
    start = time.perf_counter()
    importlib.import_module(module)
    return {"larger/import": time.perf_counter() - start}


def main() -> None:
    """Print the measurements of the library named in the arguments."""
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("--only", default="")
    parser.add_argument("--effort", type=int, default=7)
    parser.add_argument("--import-time", action="store_true")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    found = (
        import_time(options.module) if options.import_time else measure(options.module, options.only, options.effort)
    )
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
