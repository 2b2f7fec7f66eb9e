"""The session that runs other libraries' tests: sources are what they are said to be, and what differs is told."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from tools.clients_tests.running import Outcome, _read, describe, expectations, run, stored, unexpected
from tools.clients_tests.sources import SourceError, fetch, tree_name


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root" / "inside"
    (root / "tests" / "deeper").mkdir(parents=True)
    (root / "tests" / "deeper" / "b.py").write_text("b = 1\n")
    (root / "tests" / "deeper.py").write_text("")  # sorts before the folder, whose name git ends in a slash
    (root / "tests" / "run").write_text("#!/bin/sh\n")
    (root / "tests" / "run").chmod(0o755)
    (root / "tests" / "link").symlink_to("run")
    return root


def test_a_folder_has_the_name_that_git_gives_it(tree: Path) -> None:
    for command in ("init", "add tests", "-c user.name=a -c user.email=a@b commit -m one"):
        subprocess.run(["git", *command.split()], cwd=tree, check=True, capture_output=True)
    name = subprocess.run(["git", "rev-parse", "HEAD:tests"], cwd=tree, check=True, capture_output=True, text=True)
    assert tree_name(tree / "tests") == name.stdout.strip()


def test_a_source_with_another_content_is_refused(tree: Path, tmp_path: Path) -> None:
    name, archive = tree_name(tree / "tests"), tmp_path / "archive.tar.gz"
    (tree / "conftest.py").write_text("")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tree.parent, "packed")
    files = {"conftest.py": "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"}  # git's name of nothing
    source = {"folders": {"tests": name}, "files": files, "url": "https://nowhere.invalid/"}
    folder = fetch("source", source, tmp_path / "sources", archive)
    assert tree_name(folder / "tests") == name
    assert fetch("source", source, tmp_path / "sources") == folder, "it is fetched once"
    (tree / "tests" / "deeper" / "b.py").write_text("b = 2\n")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tree.parent, "packed")
    with pytest.raises(SourceError, match=f"tests is [0-9a-f]{{40}} in git's names, but {name} was asked for"):
        fetch("source", source, tmp_path / "others", archive)
    (tree / "tests" / "deeper" / "b.py").write_text("b = 1\n")
    (tree / "conftest.py").write_text("import os\n")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tree.parent, "packed")
    with pytest.raises(SourceError, match="conftest.py is"):
        fetch("source", source, tmp_path / "others", archive)


DRAWING = """
import random
import numpy
import torch

def test_first():
    assert draw() == TOLD

def test_second():
    assert draw() == TOLD

def draw():
    return random.random(), numpy.random.rand(), torch.rand(1).item()

random.seed(0), numpy.random.seed(0), torch.manual_seed(0)
TOLD = draw()
"""


def test_a_seeded_suite_draws_the_same_in_each_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "drawing").mkdir()
    (tmp_path / "drawing" / "__init__.py").write_text("")
    (tmp_path / "drawing" / "test_drawing.py").write_text(DRAWING)
    monkeypatch.syspath_prepend(tmp_path)
    suite = {"package": "drawing", "tests": ["."], "seeded": True}
    outcome = run(suite, [sys.executable, "-m", "mindtorch", "run"], tmp_path, {})
    assert not outcome.trouble
    assert {test.rpartition("::")[2]: what for test, (what, _) in outcome.tests.items()} == {
        "test_first": "passed",
        "test_second": "passed",
    }


REPORT = """<testsuites><testsuite>
<testcase classname="a.B" name="passes"/>
<testcase classname="a.B" name="fails"><failure message="AssertionError: 1&#10;more"/></testcase>
<testcase classname="a.B" name="breaks"><error message="while it was set up"/></testcase>
<testcase classname="a.B" name="waits"><skipped message="no network"/></testcase>
</testsuite></testsuites>"""


def test_outcomes_are_read_and_compared(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT)
    outcome = Outcome(dict(_read(tmp_path / "report.xml")))
    assert [outcome.count(what) for what in ("passed", "failed", "skipped")] == [1, 2, 1]
    assert outcome.tests["a.B::fails"] == ("failed", "AssertionError: 1")
    like = {"passed": ["a.B::passes"], "failed": ["a.B::fails", "a.B::breaks"], "skipped": ["a.B::waits"]}
    assert unexpected(outcome, like, {}) == []
    other = {"passed": ["a.B::passes", "a.B::fails", "a.B::waits", "a.B::gone"], "failed": ["a.B::breaks"]}
    assert [line.partition(";")[0] for line in unexpected(outcome, other, {})] == [
        "a.B::fails: failed, with PyTorch passed",
        "a.B::gone: not there, with PyTorch passed",
        "a.B::waits: skipped, with PyTorch passed",
    ]
    listed = {"a.B::fails": "known", "a.B::waits": "known", "a.B::gone": "known"}
    assert unexpected(outcome, other, listed) == []
    assert len(unexpected(outcome, other, {**listed, "a.B::passes": "stale", "a.B::never": "stale"})) == 2


def test_every_suite_has_outcomes_of_pytorch_and_lists_tests_that_are_there() -> None:
    described, expected = describe(), expectations()
    assert expected.keys() <= described["suites"].keys()
    for name, suite in described["suites"].items():
        assert ("package" in suite) != (suite.get("source") in described["sources"])
        told = stored(name)["tests"]
        assert told["passed"]
        assert expected.get(name, {}).keys() <= {test for tests in told.values() for test in tests}
