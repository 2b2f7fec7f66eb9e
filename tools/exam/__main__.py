"""Take the whole exam on a device and write a report: ``python -m tools.exam [DEVICE] [--report FILE]``.

A device's libraries can end the process that they run in. So a child takes the checks, and tells each before it begins;
where it dies, the check that it was at has failed, and another child goes on behind it.
"""

from __future__ import annotations

import argparse
import collections
import json
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import numpy as np

from mt_core.plugins.coverage import coverage
from mt_core.plugins.discovery import find_backend
from mt_core.plugins.runtime_access import count_devices, no_device
from mt_core.testing.proofs import NAMES

from . import PARTIAL, Check, make_exams

#: What a child's lines begin with; all others are the libraries' own words.
MARK = "exam: "


#: The share of the samples whose derivatives are checked on devices that are not the host: formulas are the same
#: everywhere, and differences take a device long.
ELSEWHERE = 0.05
#: The checks that say whether an operator calculates rightly.
DECISIVE = ("agrees_with_meta", "agrees_with_reference", "strided_inputs")
#: After how many checks the report is written anew.
OFTEN = 100


class Outcome(NamedTuple):
    """A check, the reason why it is known to fail, and what it said; nothing where it passed."""

    name: str
    operator: str
    reason: str
    said: str


def failure_of(check: Check) -> str:
    """What a check says when it fails; nothing when it passes."""
    try:
        check.run()
    except Exception as error:  # noqa: BLE001 - whatever a backend raises is what the report is for
        return " ".join(f"{type(error).__name__}: {error}".split())
    return ""


def give_up(number: int, frame: FrameType | None) -> None:
    raise TimeoutError("the check takes too long")


def tell(value: object) -> None:
    print(f"\n{MARK}{json.dumps(value)}", flush=True)


def take(options: argparse.Namespace) -> None:
    """The child: what the device is, then each check and what it said.

    Raises
    ------
    SystemExit
        Where there is no such device.
    """
    share = options.derivatives
    if share is None:
        share = 1 if options.device == "cpu" or options.device in NAMES else ELSEWHERE
    checks = make_exams(options.device, options.gaps, share).checks(options.operators)  # registers what proves itself
    if options.device not in NAMES and options.device != "cpu" and not count_devices(options.device):
        raise SystemExit(f"{no_device(options.device)}\nmindtorch doctor says what is missing")
    if not options.begin:
        diagnose = getattr(find_backend(options.device), "diagnose", None)
        tell({"device": [] if diagnose is None else diagnose()})
    signal.signal(signal.SIGALRM, give_up)
    for place, check in enumerate(checks):
        if place < options.begin:
            continue
        tell([place, check.name, check.operator, check.reason])
        signal.alarm(options.limit)
        try:
            said = failure_of(check)
        finally:
            signal.alarm(0)
        tell(said)


def outcomes(about: list[tuple[str, str]]) -> Iterator[Outcome]:
    """What became of each check; what the device is goes into `about`.

    Raises
    ------
    SystemExit
        When a child ends between two checks.
    """
    begin = 0
    while True:
        command = [sys.executable, "-m", "tools.exam", *sys.argv[1:], "--from", str(begin)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace")
        at: list[object] = []
        assert child.stdout is not None
        for line in child.stdout:
            if not line.startswith(MARK):
                continue
            told = json.loads(line.removeprefix(MARK))
            if isinstance(told, dict):
                about[:] = [(str(name), str(text)) for name, text in told["device"]]
            elif isinstance(told, list):
                at = told
            else:
                yield Outcome(*map(str, at[1:]), told)
                begin, at = begin + 1, []
        ended = child.wait()
        if not at:
            if ended:
                raise SystemExit(f"the exam ended with {ended}, at no check")
            return
        yield Outcome(*map(str, at[1:]), f"the process ended with {ended}")
        begin += 1


def report(device: str, about: list[tuple[str, str]], taken: list[Outcome], seconds: float) -> str:
    """The report as Markdown: the device, a table of the checks, the failures, the gaps with their reasons."""
    count, known = collections.Counter(o.name for o in taken), collections.Counter(o.name for o in taken if o.reason)
    failures = sorted(o for o in taken if o.said)
    failed = collections.Counter(o.name for o in failures)
    lines = [
        f"# Exam of device '{device}'",
        "",
        f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.platform()}; {seconds:.0f} s.",
        "",
        *(f"- {name}: {text}" for name, text in about),
        *([""] if about else []),
        "| check | operators | passed | known gaps | failed |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, number in count.items():
        passed = number - known[name] - failed[name]
        lines.append(f"| {name} | {number} | {passed} | {known[name]} | {failed[name]} |")
    lines += ["", *shares(taken)]
    if failures:
        lines += ["", "## Failures", ""]
        lines += [f"- {o.name}, `{o.operator}`: {o.said[:400]}" for o in failures]
    if device in PARTIAL:
        missing = [name for name, found in coverage(device).items() if found.state == "missing"]
        lines += ["", "## Operators without a kernel", "", " ".join(f"`{name}`" for name in missing)]
    lines += ["", "## Known gaps", ""]
    by_reason: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for o in taken:
        if o.reason:
            by_reason[o.name, o.reason].append(f"`{o.operator}`")
    lines += [f"- {name}: {reason}: {', '.join(names)}" for (name, reason), names in by_reason.items()]
    return "\n".join(lines) + "\n"


def shares(taken: list[Outcome]) -> list[str]:
    """How many operators calculate rightly; an operator that takes no sample fails the check of shapes alone."""
    asked = {o.operator for o in taken if o.name == "agrees_with_reference"}
    wrong = {o.operator for o in taken if o.name in DECISIVE and (o.said or o.reason)}
    on_host = coverage("cpu")
    kernels = {name for name in asked if on_host[name].state == "native"}
    lines = []
    for of_what, names in (
        ("functional operators", asked),
        ("those for which mt-backend-cpu has a kernel of its own", kernels),
    ):
        if names:
            right = len(names - wrong)
            lines.append(f"- {right} of {len(names)} ({100 * right / len(names):.0f} %) {of_what} calculate rightly")
    return lines


def write(path: Path, device: str, about: list[tuple[str, str]], taken: list[Outcome], start: float) -> None:
    path.write_text(report(device, about, taken, time.monotonic() - start), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev exam", description=__doc__)
    parser.add_argument("device", nargs="?", default="cpu")
    parser.add_argument("--gaps", type=Path, help="known gaps, where they are not the distribution's own")
    parser.add_argument("--report", type=Path, help="where to write; exam-DEVICE.md unless told")
    parser.add_argument("--operators", nargs="+", help="these overloads only")
    parser.add_argument(
        "--derivatives", type=float, metavar="SHARE", help="of the samples: 0.05 on devices, 1 on the host"
    )
    parser.add_argument("--limit", type=int, default=600, help="seconds after which a check is given up")
    parser.add_argument("--from", dest="begin", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.begin is not None:
        take(options)
        return 0
    start = time.monotonic()
    path = options.report or Path(f"exam-{options.device}.md")
    about: list[tuple[str, str]] = []
    taken: list[Outcome] = []
    try:
        for outcome in outcomes(about):
            taken.append(outcome)
            if len(taken) % OFTEN == 0:  # a machine may be taken away
                write(path, options.device, about, taken, start)
            if outcome.said:
                print(f"{outcome.name} {outcome.operator}: {outcome.said[:200]}", flush=True)
    finally:  # also of an exam that is broken off
        write(path, options.device, about, taken, start)
    failed = sum(bool(o.said) for o in taken)
    print(f"{len(taken)} checks, {failed} failed: {path}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
