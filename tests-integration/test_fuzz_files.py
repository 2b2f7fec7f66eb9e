"""The first damaged and hostile files load or are refused with a clear error; and the guard that watches them."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

if not hasattr(os, "fork"):
    pytest.skip("files are loaded in processes that are forked", allow_module_level=True)

from tools.fuzz import files
from tools.fuzz.damage import KINDS, file_of
from tools.fuzz.guard import GOOD, MEMORY, PATIENCE, outcomes
from tools.fuzz.pickles import MARKER

ROOT = Path(__file__).parents[1]


def test_damaged_and_hostile_files_load_or_are_refused_with_their_place() -> None:
    # In a process of its own: how much memory a child of a long run of tests holds depends on what ran before.
    program = "from tools.fuzz import files; files.prepare(); found = files.run(range(200)); print(found.text())"
    shown = "import json; print(json.dumps(found.counts))"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; {shown}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    counts = json.loads(done.stdout.splitlines()[-1])
    assert set(counts) <= set(GOOD), done.stdout
    assert sum(counts.values()) == 200 and counts["refused"] > counts["loaded"] > 20


def test_files_follow_from_their_seeds_and_are_of_every_kind() -> None:
    made = [files.made(seed) for seed in range(200)]
    assert made[7:9] == [files.made(seed) for seed in (7, 8)]
    assert {kind for kind, _ in made} <= set(KINDS) and len({kind for kind, _ in made}) >= len(KINDS) - 3
    assert {mode for _, (mode, _) in made} == {*files.MODES, "trusted"}
    assert file_of(7)[1] != file_of(8)[1]


def _hangs(path: Path, mode: str) -> None:
    time.sleep(60)


def _ends(path: Path, mode: str) -> None:
    os.abort()


def _imports(path: Path, mode: str) -> None:
    try:
        __import__(MARKER)
    except ImportError as error:
        raise pickle.UnpicklingError("(data.pkl, before byte 3)") from error


def _runs(path: Path, mode: str) -> None:
    os.system("true")


def _writes(path: Path, mode: str) -> None:
    path.write_bytes(b"")


def _takes(path: Path, mode: str) -> None:
    assert len(b"x" * (MEMORY + (32 << 20)))


def _raising(error: Exception) -> Callable[[Path, str], None]:
    def load(path: Path, mode: str) -> None:
        raise error

    return load


@pytest.mark.parametrize(
    ("load", "how"),
    [
        (lambda path, mode: None, "loaded"),
        (_raising(RuntimeError("no such record (record a/version)")), "refused"),
        (_raising(EOFError("the file ends (data.pkl, before byte 3)")), "refused"),
        (_raising(RuntimeError("no")), "vague"),
        (_raising(KeyError("before byte 3")), "odd"),
        (_raising(RecursionError("before byte 3")), "odd"),
        (_raising(MemoryError()), "odd"),
        (_hangs, "hang"),
        (_ends, "crash"),
        (_imports, "ran code"),
        (_runs, "ran code"),
        (_writes, "ran code"),
        (_takes, "memory"),
    ],
)
def test_the_guard_tells_how_a_load_comes_out(tmp_path: Path, load: Callable[[Path, str], None], how: str) -> None:
    found = outcomes(
        [("path", b"content"), ("path", b"other")], tmp_path, load, patience=1.0 if how == "hang" else PATIENCE
    )
    assert [outcome for outcome, _ in found] == [how, how]


def test_findings_are_sorted_by_their_words() -> None:
    findings = files.Findings()
    findings.enter(1, "cut", ("loaded", ""))
    assert not findings.failures()
    findings.enter(2, "cut", ("odd", "KeyError: 'a' at 17"))
    findings.enter(3, "cut", ("odd", "KeyError: 'b' at 18"))
    findings.enter(4, "cut", ("hang", "6 s"))
    assert findings.seeds["odd", "KeyError: # at #"] == [2, 3]
    assert findings.failures() == ["hang: 1 of 4 files", "odd or vague errors: 2 of 4 files"]
