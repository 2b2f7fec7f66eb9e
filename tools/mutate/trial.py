"""One fault, in this process: ``python -m tools.mutate.trial FAULT`` exits with 0 when it survives, and 1 when not.

FAULT is a `sites.Fault` in JSON. The exam of the operators concerned comes first, then the unit tests of the area.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from .plan import ROOT, files_for, operators_for
from .sites import Fault, plant

CAUGHT = 1


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


def exam_catches(fault: Fault) -> str:
    """What the exam says first, or nothing."""
    # Not before the fault is in place: these import what it may be planted in.
    from mt_core.testing.sample import declared_operators
    from tools.exam import make_exams

    chosen = operators_for(fault, [(o.name, o.family) for o in declared_operators()])
    for check in make_exams("cpu").checks(chosen):
        try:
            check.run()
        except Exception as error:  # noqa: BLE001 - a fault may raise anything
            return f"{check.name} {check.operator}: {type(error).__name__}"
    return ""


def main() -> int:
    fault = Fault(*json.loads(sys.argv[1]))
    sys.meta_path.insert(0, FaultyFinder(fault))
    try:
        said = exam_catches(fault)
    except Exception as error:  # noqa: BLE001 - nothing could be imported any more
        said = f"import: {type(error).__name__}: {error}"
    if said:
        print(f"caught by {said}")
        return CAUGHT
    files = files_for(fault)
    options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "--timeout=120"]
    if files and pytest.main([*options, *files]) != pytest.ExitCode.OK:
        print("caught by the unit tests")
        return CAUGHT
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
