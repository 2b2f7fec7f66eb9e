"""Take the whole exam on device ``cuda`` in one process: ``python take_exam.py [--fake] [--operators REGEX]``.

With ``--fake``, `fake_cupy` stands in for CuPy and its device; with ``--compiled``, too, and the CUDA sources run on
the CPU. The report is JSON: how many checks passed, which failed and with what words.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: Seconds after which one check is given up.
LIMIT = 60


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fake", action="store_true")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--operators", default="")
    parser.add_argument("--checks", default="")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--derivatives", type=float, default=0, help="the share of derivatives that is taken as well")
    parser.add_argument("--no-gaps", action="store_true")
    parser.add_argument("--part", default="1/1", help="which part of how many: 3/8")
    return parser.parse_args()


def stand_in() -> None:
    """Put `fake_cupy` in CuPy's place."""
    sys.path.insert(0, str(HERE / "fake"))
    import fake_cupy

    fake_cupy.install()


def compiled() -> list[Any]:
    """Let the compiled kernels run on the CPU, over the stand-in's memory; the machines."""
    sys.path.insert(0, str(HERE))
    import cpu_machine
    import cupy

    from mt_backend_gpu.compiled import on_cupy

    for index in range(cupy.cuda.runtime.getDeviceCount()):
        made = on_cupy.MACHINES[index] = cpu_machine.CpuMachine(cpu_machine.kept_folder())
        made.empty, made.zeros, made.address = cupy.empty, cupy.zeros, on_cupy.address_of
    return list(on_cupy.MACHINES.values())


def prepare(machines: list[Any], checks: list[tuple[str, str, Any]]) -> None:
    """Compile what the checks launch, many kernels at a time: they are run once for that, whatever comes of it."""
    for machine in machines:
        machine.noted = set()
    for _, operator, run in checks:
        failure_of(run, operator)
    for machine in machines:
        machine.prepare_noted()


class GivenUp(Exception):
    """A check took too long."""


def give_up(*args: Any) -> None:
    raise GivenUp(f"took more than {LIMIT} s")


def checks_of(options: argparse.Namespace) -> list[tuple[str, str, Any]]:
    """(check, operator, its function) of all that is asked."""
    from mt_core.testing import BackendExam, read_gaps
    from mt_core.testing.exam import APPLIES

    gaps = {} if options.no_gaps else read_gaps(HERE / "gaps.toml")
    exam = type("Exam", (BackendExam,), {"device_type": "cuda", "gaps": gaps})()
    part, parts = map(int, options.part.split("/"))
    every = [
        (check.removeprefix("test_"), operator, getattr(exam, check))
        for check in APPLIES
        for operator in exam.operators(check)
        if re.search(options.operators, operator) and re.search(options.checks, check)
    ]
    return [*every, *derivatives_of(options, gaps)][part - 1 :: parts]


def derivatives_of(options: argparse.Namespace, gaps: Any) -> list[tuple[str, str, Any]]:
    """The same of first and second derivatives."""
    if not options.derivatives:
        return []
    from mt_autograd.testing import DerivativeExam
    from mt_core.testing import read_gaps
    from mt_core.testing.gaps import merge_gaps

    known = merge_gaps(read_gaps(HERE.parents[1] / "mt-autograd" / "tests" / "derivative_gaps.toml"), gaps)
    facts = {"device_type": "cuda", "gaps": known, "share": options.derivatives}
    exam = type("Derivatives", (DerivativeExam,), facts)()
    return [
        (check, operator, getattr(exam, f"test_{check}"))
        for operator in exam.operators()
        for check in ("first_derivative", "second_derivative")
        if re.search(options.operators, operator) and re.search(options.checks, check)
    ]


def failure_of(run: Any, operator: str) -> str:
    """What a check says when it fails; nothing when it passes."""
    signal.alarm(LIMIT)
    try:
        run(operator)
    except Exception as error:  # noqa: BLE001 - whatever a backend raises is what the report is for
        return " ".join(f"{type(error).__name__}: {error}".split())[:600]
    finally:
        signal.alarm(0)
    return ""


def main() -> int:
    options = parsed()
    if options.fake or options.compiled:
        stand_in()
    machines = compiled() if options.compiled else []
    signal.signal(signal.SIGALRM, give_up)
    start, taken, known, failures = time.time(), collections.Counter[str](), 0, []
    checks = checks_of(options)
    if machines:
        prepare(machines, checks)
    for check, operator, run in checks:
        if time.time() - start > options.seconds:
            taken["not taken"] += 1
            continue
        taken[check] += 1
        known += operator in getattr(run.__self__, "gaps", {}).get(check, {})
        said = failure_of(run, operator)
        if said:
            failures.append((check, operator, said))
    print(json.dumps(taken), f"{len(failures)} failed, {time.time() - start:.0f} s")
    if options.report:
        report = {"taken": taken, "known": known, "failed": failures}
        options.report.write_text(json.dumps(report, indent=0), encoding="utf-8")
    for failure in failures if options.report is None else failures[:40]:
        print(*failure, sep=" | ")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
