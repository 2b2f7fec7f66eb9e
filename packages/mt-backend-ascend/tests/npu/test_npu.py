"""Device ``npu`` on MindSpore's CPU target: programs, each in a process of its own, which MindSpore may end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAMS = [
    (file, name)
    for file in ("npu_calls.py", "npu_program.py", "npu_values.py")
    for name in re.findall(r"^@program\ndef (\w+)", (HERE / file).read_text(encoding="utf-8"), re.MULTILINE)
]


def test_mindspore_is_here() -> None:
    """Without it this whole folder would show nothing."""
    import mindspore

    assert mindspore.__version__.startswith("2.10")


@pytest.mark.parametrize(("file", "name"), PROGRAMS)
def test_program(file: str, name: str) -> None:
    ends_well(HERE / file, name)


def test_the_sentence_model_of_the_demo() -> None:
    ends_well(HERE / "minilm_program.py")


def ends_well(program: Path, *arguments: str) -> None:
    environment = os.environ | {"MT_ASCEND_TARGET": "CPU", "GLOG_v": "4", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        [sys.executable, str(program), *arguments], capture_output=True, text=True, env=environment, timeout=400
    )
    assert ended.returncode == 0 and ended.stdout.rstrip().endswith("done"), ended.stdout[-2000:] + ended.stderr[-4000:]
