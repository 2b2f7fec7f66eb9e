"""``python -m tools.clients [NAME ...] [--quick]``: run the programs on mindtorch, and compare with the snapshots.

Writes their part of ``docs/programs.md`` when all of them run.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import sys
import time

from .page import PAGE, SUITES
from .running import PROGRAMS, QUICK, SNAPSHOTS, Told, differences, run, summary_of

HEAD = """\
# Programs of other libraries

Short programs with the libraries that people use on PyTorch, as their wheels come (`tools/clients/requirements.txt`),
run by `mindtorch run` in an environment that PyTorch is not in, from the import to a few training steps. Their numbers
are compared with snapshots that PyTorch {pytorch} made of the same programs. `./dev clients` runs them all and writes
this page; `.ci/run` runs some.

`values` are the numbers, texts and shapes compared, `apart` is the largest distance between two numbers, relative to
the greatest number of their tensor. Seconds are those of a process on one thread, imports included; PyTorch's were
taken when the snapshots were.

| program | what it does | values | apart | s | PyTorch, s | |
|---|---|---|---|---|---|---|
"""
FOOT = """
`{agree}` of `{all}` programs agree. The compiled library of torchvision is linked against PyTorch's and is not loaded:
the operators in it (`nms`, `roi_align`, `deform_conv2d` ...) are declared for the import, and raise when called.
"""


def row(name: str, told: Told, stored: dict[str, object], apart: list[str], count: int, farthest: float) -> str:
    outcome = told.error.replace("|", "/")[:120] or (apart[0].replace("|", "/") if apart else "agrees")
    seconds = (round(told.seconds, 1), round(float(stored["seconds"]), 1))  # type: ignore[arg-type]
    return f"| {name} | {summary_of(name)} | {count} | {farthest:.0e} | {seconds[0]} | {seconds[1]} | {outcome} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev clients", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; all unless given")
    parser.add_argument("--quick", action="store_true", help=f"only {' '.join(QUICK)}")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(PROGRAMS))
    if unknown:
        parser.error(f"no such programs: {' '.join(unknown)}; there are {' '.join(PROGRAMS)}")
    chosen = options.names or (QUICK if options.quick else PROGRAMS)
    rows, failed, started = [], [], time.perf_counter()
    for name in chosen:
        stored = json.loads((SNAPSHOTS / f"{name}.json").read_text(encoding="utf-8"))
        told = run(name, [sys.executable, "-m", "mindtorch", "run"])
        apart, count, farthest = (
            ([], 0, 0.0) if told.error else differences(told.found, stored["found"], told.tolerance)
        )
        if told.error or apart:
            failed.append(name)
        rows.append(row(name, told, stored, apart, count, farthest))
        print(rows[-1], *(f"    {line}" for line in apart[:20]), sep="\n", flush=True)
    print(f"{len(chosen) - len(failed)} of {len(chosen)} agree, {time.perf_counter() - started:.0f} s")
    if tuple(chosen) == PROGRAMS:
        head = HEAD.format(pytorch=stored["pytorch"])
        foot = FOOT.format(agree=len(chosen) - len(failed), all=len(chosen))
        _, mark, suites = PAGE.read_text(encoding="utf-8").partition(SUITES)
        PAGE.write_text(head + "\n".join(rows) + "\n" + foot + mark + suites, encoding="utf-8")
    return bool(failed)


if __name__ == "__main__":
    importlib.metadata.version("mindtorch")  # the environment of the session, not any
    raise SystemExit(main())
