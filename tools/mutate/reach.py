"""Which checks enter which functions: ``python -m tools.mutate.reach`` measures it, for all faults.

Each operator's checks, and each test file, run in a process of their own with a trace of the functions that are
entered: what one has left in a cache would hide functions from the next. It only says whom to ask first, and may be
older than the tree: who is not asked catches nothing.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from .plan import ROOT, test_files

__all__ = ["Reach", "read_reach", "tree_digest"]

STATE = ROOT / ".mutate"
MEASURED = STATE / "reach.json"
PACKAGES = str(ROOT / "packages")
#: Seconds that one operator's checks, or one test file, may take to be asked about faults at all.
LONGEST = 60.0
#: Part of the derivatives that is traced: numerical ones call the same functions over and over.
TRACED_SHARE = 0.1


class Reach(NamedTuple):
    """Function -> the operators and test files that enter it, and the seconds of each."""

    entered: dict[str, list[str]]
    seconds: dict[str, float]

    def checks_of(self, path: str, name: str, start: int) -> list[str]:
        """Who enters a function, quickest first."""
        return sorted(self.entered.get(function_key(path, name, start), ()), key=lambda name: self.seconds[name])


def function_key(path: str, name: str, line: int) -> str:
    """A name that stays when lines move, where a function has a name."""
    return f"{path}:{line if name == '<lambda>' else name}"


@functools.cache
def tree_digest() -> str:
    """What faults, samples and tests are like: a number of every file under `packages`."""
    files = sorted(
        path for kind in ("*.py", "*.toml", "*.npz", "*.json", "*.gz") for path in Path(PACKAGES).rglob(kind)
    )
    number = 0
    for path in files:
        number = zlib.crc32(path.read_bytes(), zlib.crc32(str(path.relative_to(ROOT)).encode(), number))
    return f"{number:08x}"


def read_reach() -> Reach:
    """What was measured; measured now, if it never was."""
    if not MEASURED.is_file():
        STATE.mkdir(exist_ok=True)
        MEASURED.write_text(json.dumps(measure()), encoding="utf-8")
    return Reach(**json.loads(MEASURED.read_text(encoding="utf-8")))


def measure() -> dict[str, Any]:
    """Trace all operators and test files. Those that fail without any fault, or take long, are left out, and said."""
    entered: dict[str, list[str]] = {}
    seconds: dict[str, float] = {}
    for name, (passed, took, functions) in {**measure_operators(), **measure_files()}.items():
        if not passed or took > LONGEST:
            print(f"left out: {name} ({'takes long' if passed else 'fails without a fault'})", flush=True)
            continue
        seconds[name] = round(took, 3)
        for function in functions:
            entered.setdefault(function, []).append(name)
    return {"entered": entered, "seconds": seconds}


Measured = tuple[bool, float, list[str]]


def measure_operators() -> dict[str, Measured]:
    """The exam of every operator."""
    code = "from tools.mutate.reach import trace_operators; trace_operators()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))


def measure_files() -> dict[str, Measured]:
    """Every test file."""
    found = {}
    for file in test_files():
        out = STATE / "traced.json"
        out.unlink(missing_ok=True)
        code = f"from tools.mutate.reach import trace_file; trace_file({file!r}, {str(out)!r})"
        with (STATE / "reach.log").open("a") as log:
            subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=log, stderr=log, timeout=900, check=False)
        found[file] = tuple(json.loads(out.read_text())) if out.is_file() else (False, 0.0, [])
    return found


def traced(run: Callable[[], bool]) -> Measured:
    """Run, and list the functions under `packages` that were entered."""
    codes = set()

    def enter(frame: FrameType, event: str, argument: Any) -> None:
        codes.add(frame.f_code)

    start = time.monotonic()
    sys.settrace(enter)
    try:
        passed = run()
    finally:
        sys.settrace(None)
    took = time.monotonic() - start
    ours = (code for code in codes if code.co_filename.startswith(PACKAGES))
    names = ((str(Path(c.co_filename).relative_to(ROOT)), c.co_name, c.co_firstlineno) for c in ours)
    return passed, took, sorted({function_key(*name) for name in names})


def trace_operators() -> None:
    """Print a line per operator, each traced in a fork of this process."""
    # In the process that is traced, and there alone: these import what is examined.
    from mt_core.testing.sample import declared_operators
    from tools.exam import make_exams

    names = [overload.name for overload in declared_operators()]
    exams = make_exams("cpu", share=TRACED_SHARE)
    for name in names:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            checks = list(exams.checks([name]))
            print(json.dumps([name, traced(lambda checks=checks: all(passes(c.run) for c in checks))]), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


def passes(run: Callable[[], None]) -> bool:
    try:
        run()
    except Exception:  # noqa: BLE001 - a check that fails without a fault is left out, whatever it raises
        return False
    return True


def trace_file(file: str, out: str) -> None:
    """Write what a test file enters."""
    # Not before the trace is wanted: it takes longer to import than the rest of this module.
    import pytest

    options = ["-q", "--no-header", "-p", "no:cacheprovider", f"--timeout={LONGEST * 4:.0f}", file]
    Path(out).write_text(json.dumps(traced(lambda: pytest.main(options) == pytest.ExitCode.OK)))


if __name__ == "__main__":
    MEASURED.unlink(missing_ok=True)
    reach = read_reach()
    print(f"{len(reach.entered)} functions, {len(reach.seconds)} operators and files")
