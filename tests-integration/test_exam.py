"""`./dev exam` goes on where a device's libraries end the process, and tells of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tools.exam.__main__ import Outcome, outcomes, report

#: In place of Python: a child that ends in its second check, and one that goes on behind it.
CHILD = """#!/bin/sh
for from; do :; done
if [ "$from" = 0 ]; then
    echo 'exam: {"device": [["chip", "Ascend910B3"]]}'
    echo 'exam: [0, "agrees", "add", ""]'
    echo 'a word of a library'
    echo 'exam: ""'
    echo 'exam: [1, "agrees", "mul", ""]'
    kill -SEGV $$
fi
[ "$from" = 2 ] || exit 1
echo 'exam: [2, "agrees", "sub", "no kernel"]'
echo 'exam: ""'
"""


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "child"
    made.write_text(CHILD, encoding="utf-8")
    made.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(made))
    monkeypatch.setattr(sys, "argv", ["exam", "npu"])
    return made


def test_a_check_that_ends_the_process_has_failed(child: Path) -> None:
    about: list[tuple[str, str]] = []
    taken = list(outcomes(about))
    assert taken == [
        Outcome("agrees", "add", "", ""),
        Outcome("agrees", "mul", "", "the process ended with -11"),
        Outcome("agrees", "sub", "no kernel", ""),
    ]
    text = report("npu", about, taken, 1.0)
    assert "- chip: Ascend910B3" in text and "| agrees | 3 | 1 | 1 | 1 |" in text
    assert "- agrees, `mul`: the process ended with -11" in text and "- agrees, `sub`: no kernel" in text


def test_a_child_that_ends_at_no_check_ends_the_exam(child: Path) -> None:
    child.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="the exam ended with 3, at no check"):
        list(outcomes([]))
