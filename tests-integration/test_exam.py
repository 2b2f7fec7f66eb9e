"""`./dev exam` goes on where a device's libraries end the process, and tells of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tools.exam import gaps_of
from tools.exam.__main__ import DECISIVE, Outcome, outcomes, report

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
    assert "- agrees, `mul`: the process ended with -11" in text and "- agrees: no kernel: `sub`" in text


def test_gaps_of_the_cpu_target_are_not_those_of_an_npu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MT_ASCEND_TARGET", "CPU")
    (path,) = gaps_of("npu")
    assert path.is_file()
    monkeypatch.delenv("MT_ASCEND_TARGET")
    assert gaps_of("npu") == [] and gaps_of("cpu")


def test_the_report_tells_how_many_operators_calculate_rightly() -> None:
    """One that takes no sample fails the check of shapes alone, and is not right by that of values."""
    taken = [Outcome(check, name, "", "") for check in DECISIVE[1:] for name in ("add.Tensor", "mm", "outer", "ger")]
    taken += [Outcome("agrees_with_meta", "mm", "no kernel", ""), Outcome("agrees_with_meta", "ger", "", "wrong")]
    text = report("npu", [], taken, 1.0)
    assert "- 2 of 4 (50 %) functional operators calculate rightly" in text
    assert "- 1 of 2 (50 %) those for which mt-backend-cpu has a kernel of its own calculate rightly" in text
    assert "- agrees_with_meta: no kernel: `mm`" in text and "- agrees_with_meta, `ger`: wrong" in text


def test_a_child_that_ends_at_no_check_ends_the_exam(child: Path) -> None:
    child.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="the exam ended with 3, at no check"):
        list(outcomes([]))
