"""The exam catches what it is there for: planted faults fail the check that is meant to see them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mt_autograd")

PROGRAM = Path(__file__).with_name("planted_faults.py")
FAULTS = (
    "add subtracts",
    "exp is constant",
    "mm is zero",
    "a kernel writes its input",
    "a kernel returns its input",
    "the memory of gaps is read",
    "a stride is wrong",
    "an in-place write in bfloat16 is lost",
    "a short path ignores an argument",
    "an index is off by one",
    "a derivative is doubled",
    "a second derivative is lost",
    "a device index is wrong",
)


def verdict(*arguments: str) -> str:
    """What the exam says: "passed", or the words of a failure."""
    command = [sys.executable, str(PROGRAM), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(fault: str) -> None:
    found = verdict(fault)
    assert found and found != "passed"
    assert found != verdict(fault, "--sound")
