"""Run random programs on PyTorch and mindtorch: ``./dev fuzz [--seeds 0:2000] [--minutes 20] [--minimise]``.

The report goes to fuzz.md. The exit status says whether as few programs differ as are wanted; operators that were
run fewer than 20 times are named (some 8,000 programs run each as often).
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .catalogue import Catalogue, catalogue
from .minimise import minimised
from .processes import Process
from .report import Report
from .rounding import Rounding

#: Programs that one interpreter is ahead of the other.
_BATCH = 20


def requests(calls: Catalogue, seeds: range, length: int, each: int) -> Iterator[dict[str, Any]]:
    """What the writer is asked for: seed by seed, with the next operators of the catalogue in turn."""
    names = sorted(calls)
    for seed in seeds:
        source = random.Random(seed)
        chosen = [names[(seed * each + j) % len(names)] for j in range(each)]
        yield {"seed": seed, "length": length, "calls": [source.choice(calls[name]) for name in chosen]}


def written(writer: Process, asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The programs of a batch; without those that end PyTorch."""
    answers = [(request, writer.ask(request)) for request in asked]
    return [{"seed": request["seed"], **program} for request, program in answers if program is not None]


def replayed(other: Process, programs: list[dict[str, Any]]) -> list[list[Any] | None]:
    answers = [other.ask({"seed": program["seed"], "lines": program["lines"]}) for program in programs]
    return [None if answer is None else answer["notes"] for answer in answers]


def run(writer: Process, other: Process, asked: Iterator[dict[str, Any]], report: Report, until: float) -> None:
    """Write, replay and compare batch by batch; both interpreters work at the same time."""
    with ThreadPoolExecutor(1) as pool:
        batches = iter(lambda: [request for _, request in zip(range(_BATCH), asked, strict=False)], [])
        ahead = pool.submit(written, writer, next(batches, []))
        while programs := ahead.result():
            ahead = pool.submit(written, writer, next(batches, []) if time.monotonic() < until else [])
            for program, got in zip(programs, replayed(other, programs), strict=True):
                report.enter(program, got)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev fuzz", description=__doc__)
    parser.add_argument("--seeds", default="0:2000", help="FIRST:LAST")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--length", type=int, default=12, help="lines of a program, at least")
    parser.add_argument("--calls", type=int, default=5, help="calls of the catalogue in each program")
    parser.add_argument("--pytorch", default=sys.executable, help="an interpreter that has PyTorch")
    parser.add_argument("--mindtorch", default=sys.executable, help="an interpreter that has mindtorch")
    parser.add_argument("--report", type=Path, default=Path("fuzz.md"))
    parser.add_argument("--minimise", action="store_true", help="shorten an example of each class")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    writer, other = Process(options.pytorch, "torch"), Process(options.mindtorch, "mindtorch")
    calls = catalogue()
    rounding = Rounding(options.pytorch)
    report = Report(calls, rounding)
    asked = requests(calls, range(first, last), options.length, options.calls)
    run(writer, other, asked, report, time.monotonic() + 60 * options.minutes)
    if options.minimise:
        minimised(report, writer, other)
    report.ended = {"PyTorch": len(writer.ended), "mindtorch": len(other.ended)}
    options.report.write_text(report.text(), encoding="utf-8")
    print(report.text()[:3000])
    for process in (writer, other, rounding):
        process.close()
    for failure in (failures := report.failures()):
        print("MISSED", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
