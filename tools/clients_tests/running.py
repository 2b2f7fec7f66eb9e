"""Running a suite in a process of its own, and reading what became of each test."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .sources import fetch

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["HERE", "Outcome", "describe", "expectations", "run", "stored", "unexpected"]

HERE = Path(__file__).parent
FIXED = {
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
}


@dataclass
class Outcome:
    """What became of the tests of a suite.

    Attributes
    ----------
    tests
        By id, `passed`, `failed` or `skipped`, and the first line of what was said.
    seconds
        How much time of the processor the run took, the import included: what else runs does not make it longer.
    trouble
        What pytest said where it did not come to its end; empty otherwise.
    """

    tests: dict[str, tuple[str, str]] = field(default_factory=dict)
    seconds: float = 0.0
    trouble: str = ""

    def count(self, what: str) -> int:
        return sum(outcome == what for outcome, _ in self.tests.values())


def describe() -> dict[str, Any]:
    """The sources and the suites, as `suites.toml` has them."""
    return tomllib.loads((HERE / "suites.toml").read_text(encoding="utf-8"))


def expectations() -> dict[str, dict[str, str]]:
    """By suite, the tests of which something else is known to become than with PyTorch, and why."""
    return tomllib.loads((HERE / "expected.toml").read_text(encoding="utf-8"))


def run(suite: dict[str, Any], python: list[str], sources: Path, archives: dict[str, Path], *more: str) -> Outcome:
    """Run a suite by a command that takes Python's arguments."""
    environment = {**os.environ, **FIXED, **suite.get("environment", {})}
    if "source" in suite:
        source = describe()["sources"][suite["source"]]
        where = fetch(suite["source"], source, sources, archives.get(suite["source"]))
        environment["PYTHONPATH"] = str(where / source["path"])
        tests = suite["tests"]
    else:
        found = importlib.util.find_spec(suite["package"])
        if found is None or found.origin is None:
            raise ModuleNotFoundError(f"{suite['package']} is not installed")
        where = Path(found.origin).parent
        # Addons of pytest that the libraries ask for in their own settings are no part of what is tested.
        tests = [str(where / name) for name in suite["tests"]]
    addons = []
    if suite.get("seeded"):
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE / "addon"), environment.get("PYTHONPATH")]))
        addons = ["-p", "seed_each_test"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        settings = [] if "source" in suite else ["-c", os.devnull, "--rootdir", str(where)]
        before = os.times()
        done = subprocess.run(
            [
                *python,
                "-m",
                "pytest",
                *settings,
                *addons,
                "-q",
                "-p",
                "no:cacheprovider",
                f"--junitxml={report}",
                *more,
                *tests,
            ],
            cwd=where if "source" in suite else folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        after = os.times()
        seconds = sum(after[2:4]) - sum(before[2:4])
        outcome = Outcome(seconds=seconds)
        if done.returncode not in (0, 1) or not report.is_file():
            outcome.trouble = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
        if report.is_file():
            outcome.tests.update(_read(report))
    return outcome


def _read(report: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        for tag, what in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
            said = case.find(tag)
            if said is not None:
                yield name, (what, (said.get("message") or "").partition("\n")[0])
                break
        else:
            yield name, ("passed", "")


def stored(name: str) -> dict[str, Any]:
    """What PyTorch did with a suite: its `tests` by outcome, and the `seconds`."""
    return json.loads((HERE / "snapshots" / f"{name}.json").read_text(encoding="utf-8"))


def unexpected(outcome: Outcome, pytorch: dict[str, list[str]], expected: dict[str, str]) -> list[str]:
    """Tests of which something else became than with PyTorch and that are not listed, and listed ones that are stale.

    A test that PyTorch fails says nothing, whatever becomes of it.
    """
    there = {test: what for what, tests in pytorch.items() for test in tests}
    apart = []
    for test in sorted(there.keys() | outcome.tests.keys()):
        what, said = outcome.tests.get(test, ("not there", ""))
        differs = what != there.get(test, "not there") and there.get(test) != "failed"
        if differs and test not in expected:
            apart.append(f"{test}: {what}, with PyTorch {there.get(test, 'not there')}; {said[:160]}")
        elif not differs and test in expected:
            apart.append(f"{test}: listed in expected.toml, but it is {what} as with PyTorch")
    known = there.keys() | outcome.tests.keys()
    apart += [f"{test}: listed in expected.toml, but there is no such test" for test in sorted(expected.keys() - known)]
    return apart
