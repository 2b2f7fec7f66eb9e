"""``transformers.Trainer`` and ``accelerate launch``, as they come, train on two processes as they do on one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MINDTORCH = [sys.executable, "-m", "mindtorch", "run"]
TWO = {
    "mindtorch run": ["--nproc", "2"],
    "torchrun": ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"],
    "accelerate launch": ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes=2", "--num_machines=1"],
}


def trained(program: str, folder: Path, *launcher: str, **variables: str) -> dict:
    done = subprocess.run(
        [*MINDTORCH, *launcher, str(HERE / program), str(folder)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        # A machine without a GPU says so to `accelerate launch` by this variable.
        env={**os.environ, "ACCELERATE_USE_CPU": "true", **variables},
    )
    found = [line for line in done.stdout.splitlines() if line.startswith("found ")]
    assert (done.returncode, len(found)) == (0, 1), done
    return json.loads(found[0].removeprefix("found "))


@pytest.mark.parametrize("launcher", TWO)
def test_trainer_on_two_processes(tmp_path, launcher):
    alone = trained("train_with_trainer.py", tmp_path / "alone")
    two = trained("train_with_trainer.py", tmp_path / "two", *TWO[launcher])
    assert len(alone["losses"]) == 8
    assert alone["losses"] != [alone["losses"][0]] * 8
    assert two["losses"] == pytest.approx(alone["losses"], abs=2e-5)
    assert two["evaluated"] == pytest.approx(alone["evaluated"], abs=2e-5)
    assert two["norm"] == pytest.approx(alone["norm"], rel=1e-5)


def test_trainer_goes_on_from_a_checkpoint(tmp_path):
    whole = trained("train_with_trainer.py", tmp_path / "whole", *TWO["torchrun"])
    trained("train_with_trainer.py", tmp_path / "part", *TWO["torchrun"], STEPS="3")
    checkpoint = str(tmp_path / "part" / "checkpoint-3")
    resumed = trained("train_with_trainer.py", tmp_path / "part", *TWO["torchrun"], RESUME=checkpoint)
    assert resumed["losses"] == whole["losses"]
    assert resumed["norm"] == whole["norm"]


def test_accelerate_on_two_processes(tmp_path):
    alone = trained("train_with_accelerate.py", tmp_path)
    two = trained("train_with_accelerate.py", tmp_path, *TWO["accelerate launch"])
    assert (alone["processes"], two["processes"]) == (1, 2)
    assert len(alone["losses"]) == 16
    assert two["losses"] == pytest.approx(alone["losses"], rel=1e-5)
    assert two["norm"] == pytest.approx(alone["norm"], rel=1e-5)
