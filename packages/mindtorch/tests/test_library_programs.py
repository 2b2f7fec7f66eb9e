"""Schemas, questions about dispatch, and the deprecated ways to make operators, as in PyTorch."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import mindtorch

_SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(_SNAPSHOTS))

from describing import outcome  # noqa: E402

_ANSWERS = json.loads((_SNAPSHOTS / "library_programs.json").read_text())


@pytest.mark.parametrize("program", _ANSWERS)
def test_a_program_gives_what_it_gives_in_pytorch(program: str) -> None:
    ours = program.replace("import torch.", "import mindtorch.").replace("from torch.", "from mindtorch.")
    assert outcome(mindtorch, ours) == _ANSWERS[program]
