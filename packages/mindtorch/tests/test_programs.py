"""Short programs give what they give in PyTorch: values, dtypes, strides, versions, views, errors, warnings.

`snapshots/programs/*.txt` holds them by subject; each stands for a class of defects that was found.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mindtorch

_SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(_SNAPSHOTS))

from describing import outcome  # noqa: E402

_ANSWERS = json.loads((_SNAPSHOTS / "programs.json").read_text())


#: Where the answer differs, and how: (a part of the program, subject) -> reason. Each is seen to differ.
_DIFFERING = {
    ("r=(d.view(1,3).t_(),d)", "forward_mode"): "the version of a tangent that t_() changes counts one less",
    ("_=y.mul_(d); r=(y,v)", "forward_mode"): "the version of a tangent that mul_() writes counts one more",
    ("fw.unpack_dual(fw.make_dual(y,t)**3).tangent.sum()", "forward_mode"): "the gradient of a tangent has a tangent",
}


def _cases() -> Iterator[Any]:
    for subject, programs in _ANSWERS.items():
        for program in programs:
            reasons = [why for (part, of), why in _DIFFERING.items() if of == subject and part in program]
            marks = [pytest.mark.xfail(reason=reasons[0], strict=True)] if reasons else []
            yield pytest.param(subject, program, marks=marks)


@pytest.mark.parametrize(("subject", "program"), _cases())
def test_a_program_gives_what_it_gives_in_pytorch(subject: str, program: str) -> None:
    assert outcome(mindtorch, program) == _ANSWERS[subject][program]
