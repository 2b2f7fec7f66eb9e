"""One fault, in this process: ``python -m tools.mutate.trial FAULT`` exits with 0 if it survives, with 1 if not.

FAULT is a `sites.Fault` in JSON. First comes the exam of the operators that the statement around the fault names, then
that of its family, then the unit tests of its area. The first failure ends the trial.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import json
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from .plan import ROOT, area_of, files_for, operators_for
from .sites import Fault, first_line, plant

CAUGHT = 1
#: A fault may ask for any memory and any time: it gets this much, and seconds for a check; the longest takes some 5.
MEMORY = 8 << 30
PATIENCE = 120


class FaultyLoader(importlib.machinery.SourceFileLoader):
    """Loads one module with a fault, and never a stored compilation of it."""

    fault: Fault

    def get_code(self, fullname: str) -> Any:
        source = self.get_data(self.path).decode()
        return compile(plant(source, self.fault.place, self.fault.kind), self.path, "exec")


class FaultyFinder(importlib.abc.MetaPathFinder):
    """Finds the module of a fault before others do."""

    def __init__(self, fault: Fault) -> None:
        self.file = str(ROOT / fault.path)
        self.name = ".".join(Path(fault.path).with_suffix("").parts[3:])
        self.fault = fault

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        package = self.name.removesuffix(".__init__")
        if fullname != package:
            return None
        loader = FaultyLoader(fullname, self.file)
        loader.fault = self.fault
        return importlib.util.spec_from_file_location(fullname, self.file, loader=loader)


def exam_catches(fault: Fault, operators: list[str], kinds: str = "results first second") -> str:
    """What the exam of some operators says first, or nothing; of its results, its derivatives, or both."""
    # Not before the fault is in place: it imports what that may be planted in.
    from tools.exam import make_exams

    checks = [check for check in make_exams("cpu").checks(operators) if kind_of(check.name) in kinds]
    # A fault of a formula shows where derivatives are compared, and hardly anywhere else.
    checks.sort(key=lambda check: (kind_of(check.name) == "results") == (area_of(fault) == "derivatives"))
    for check in checks:
        signal.alarm(PATIENCE)
        try:
            check.run()
        except Exception as error:  # noqa: BLE001 - a fault may raise anything
            return f"{check.name} {check.operator}: {type(error).__name__}"
        finally:
            signal.alarm(0)
    return ""


def kind_of(check: str) -> str:
    return check.removesuffix("_derivative") if check.endswith("_derivative") else "results"


def out_of_time(number: int, frame: FrameType | None) -> None:
    raise TimeoutError("the clock")


class FirstFailure:
    """A plugin of pytest's that notes the first test, or file of tests, that fails."""

    found = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.found = self.found or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.found = self.found or report.nodeid


def tests_catch(files: list[str]) -> str:
    """The first test that fails, or nothing; the files are asked in this order."""
    options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "--timeout=120"]
    first = FirstFailure()
    ended = pytest.main([*options, *files], plugins=[first])
    return "" if ended == pytest.ExitCode.OK else f"tests {first.found or ended}"


def verdicts(fault: Fault) -> Iterator[str]:
    """What catches the fault, in the order in which it is asked; empty words for what does not."""
    # With the fault in place.
    from mt_core.testing.sample import declared_operators

    families = [(o.name, o.family) for o in declared_operators()]
    first = mentioned_in(ROOT / fault.path, fault.line, {name for name, _ in families})
    yield exam_catches(fault, first)
    others = [name for name in operators_for(fault, families) if name not in first]
    # Derivatives take longest, and are asked last where they are not what the fault is in.
    kinds = ("first second", "results") if area_of(fault) == "derivatives" else ("results", "first")
    yield exam_catches(fault, others, kinds[0])
    yield tests_catch(files_for(fault))
    yield exam_catches(fault, others, kinds[1])


def mentioned_in(path: Path, line: int, operators: set[str]) -> list[str]:
    """The operators that the statement around a line names: those that it declares something for."""
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if first_line(statement) <= line <= (statement.end_lineno or 0):
            return [name for name in strings_in(statement) if name in operators]
    return []


def strings_in(statement: ast.stmt) -> Iterator[str]:
    """The words of all strings, as decorators, calls and tables name operators, and the names of functions."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from node.value.split()
        elif isinstance(node, ast.FunctionDef):
            yield node.name


def main() -> int:
    fault = Fault(*json.loads(sys.argv[1]))
    sys.meta_path.insert(0, FaultyFinder(fault))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, out_of_time)
    try:
        said = next((words for words in verdicts(fault) if words), "")
    except Exception as error:  # noqa: BLE001 - nothing could be imported any more
        said = f"import: {type(error).__name__}: {error}"
    print(f"caught by {said}" if said else "survived")
    return CAUGHT if said else 0


if __name__ == "__main__":
    raise SystemExit(main())
