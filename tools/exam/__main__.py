"""Take the whole exam on a device and write a report: ``python -m tools.exam [DEVICE] [--report FILE]``."""

from __future__ import annotations

import argparse
import collections
import platform
import time
from pathlib import Path

import numpy as np

from . import Check, make_exams


def failure_of(check: Check) -> str:
    """What a check says when it fails; nothing when it passes."""
    try:
        check.run()
    except Exception as error:  # noqa: BLE001 - whatever a backend raises is what the report is for
        return " ".join(f"{type(error).__name__}: {error}".split())
    return ""


def report(device: str, checks: list[Check], failures: dict[tuple[str, str], str], seconds: float) -> str:
    """The report as Markdown: a table of the checks, the failures, the gaps with their reasons."""
    taken, known = collections.Counter(c.name for c in checks), collections.Counter(c.name for c in checks if c.reason)
    failed = collections.Counter(name for name, _ in failures)
    lines = [
        f"# Exam of device '{device}'",
        "",
        f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.platform()}; {seconds:.0f} s.",
        "",
        "| check | operators | passed | known gaps | failed |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, count in taken.items():
        passed = count - known[name] - failed[name]
        lines.append(f"| {name} | {count} | {passed} | {known[name]} | {failed[name]} |")
    if failures:
        lines += ["", "## Failures", ""]
        lines += [f"- {name}, `{operator}`: {text[:400]}" for (name, operator), text in sorted(failures.items())]
    lines += ["", "## Known gaps", ""]
    lines += [f"- {c.name}, `{c.operator}`: {c.reason}" for c in checks if c.reason]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev exam", description=__doc__)
    parser.add_argument("device", nargs="?", default="cpu")
    parser.add_argument("--gaps", type=Path, help="known gaps, where they are not the distribution's own")
    parser.add_argument("--report", type=Path, help="where to write; exam-DEVICE.md unless told")
    parser.add_argument("--operators", nargs="+", help="these overloads only")
    options = parser.parse_args()
    start = time.monotonic()
    checks = list(make_exams(options.device, options.gaps).checks(options.operators))
    failures = {(c.name, c.operator): text for c in checks if (text := failure_of(c))}
    path = options.report or Path(f"exam-{options.device}.md")
    path.write_text(report(options.device, checks, failures, time.monotonic() - start), encoding="utf-8")
    for (name, operator), text in failures.items():
        print(f"{name} {operator}: {text[:200]}")
    print(f"{len(checks)} checks, {len(failures)} failed: {path}")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
