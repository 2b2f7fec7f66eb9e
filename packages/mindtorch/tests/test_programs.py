"""Short programs give what they give in PyTorch: values, dtypes, strides, versions, views, errors, warnings.

`snapshots/programs/*.txt` holds them by subject; each stands for a class of defects that was found.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import mindtorch

_SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(_SNAPSHOTS))

from describing import outcome  # noqa: E402

_ANSWERS = json.loads((_SNAPSHOTS / "programs.json").read_text())


@pytest.mark.parametrize(
    ("subject", "program"), [(subject, program) for subject, programs in _ANSWERS.items() for program in programs]
)
def test_a_program_gives_what_it_gives_in_pytorch(subject: str, program: str) -> None:
    assert outcome(mindtorch, program) == _ANSWERS[subject][program]
