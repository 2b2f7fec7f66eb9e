"""The texts of the demo: the standard library's docstrings, collected without running the library."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[1] / "demo"
COLLECT = "import corpus, json, sys; print(json.dumps(corpus.collect())); print(*sys.modules, file=sys.stderr)"


def collect() -> tuple[list[list[str]], set[str]]:
    """Names with docstrings as a fresh interpreter collects them, and the modules that it imported for that."""
    result = subprocess.run([sys.executable, "-c", COLLECT], cwd=DEMO, capture_output=True, text=True, check=True)
    return json.loads(result.stdout), set(result.stderr.split())


@pytest.fixture(scope="module")
def collected():
    return collect()


def test_several_thousand_distinct_texts(collected):
    entries, _ = collected
    assert len(entries) > 4_000
    assert len({docstring for _, docstring in entries}) == len(entries)


def test_well_known_functions_are_among_them(collected):
    names = {name for name, _ in collected[0]}
    assert {"json.dumps", "math.sqrt", "builtins.sorted", "shutil.copytree", "os.makedirs", "decimal.Decimal"} <= names


def test_the_order_is_the_same_every_time(collected):
    entries, _ = collected
    assert [name for name, _ in entries] == sorted(name for name, _ in entries)
    assert collect()[0] == entries


def test_no_tests_and_no_private_modules(collected):
    for name, _ in collected[0]:
        assert not name.startswith(("_", "test.", "idlelib.", "lib2to3."))
        assert ".tests." not in name


def test_no_module_with_side_effects_is_imported(collected):
    _, imported = collected
    assert imported.isdisjoint({"antigravity", "this", "tkinter", "turtle", "idlelib"})
