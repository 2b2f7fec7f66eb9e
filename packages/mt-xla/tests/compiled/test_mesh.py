"""Tensors that are spread over eight devices of one process: data, tensor and fully sharded parallel."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("mesh_program.py")
PLANS = ("data", "tensor", "fully", "data and tensor")


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What the program found; it runs once, for the number of devices belongs to the process."""
    command = [sys.executable, str(PROGRAM), "perceptron", "transformer"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=590)
    assert run.returncode == 0, run.stderr
    return dict(json.loads(line) for line in run.stdout.splitlines())


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("kind", ["perceptron", "transformer"])
def test_losses_are_those_of_one_device(found, kind, plan):
    assert found[f"{kind} {plan}"] < 1e-5


def test_each_device_has_its_part(found):
    """Of the last weight and of the optimizer's state for it, [16, 32] of the perceptron."""
    parts = {"data": [16, 32], "tensor": [16, 4], "fully": [2, 32], "data and tensor": [16, 8]}
    for plan, part in parts.items():
        assert found[f"perceptron {plan} spread"][0] == [*part, 8], plan
        assert found[f"perceptron {plan} spread"][1][-1] == 8, plan


def test_no_process_group_is_made(found):
    assert found["no groups"] is False


def test_operators_run_on_what_is_spread(found):
    assert found["eager"] == [True, [8, 1, 8]]
    assert found["written"] == [8.0, [8, 1, 8]]


def test_what_cannot_be_spread_says_why(found):
    assert found["partial"].startswith(
        "NotImplementedError: distribute_tensor on device 'xla' takes Shard and Replicate"
    )
    assert "dimension 0, of size 9, by 8" in found["uneven"]
    assert found["too many"] == "RuntimeError: a mesh of device 'xla' with index 8: jax has 8 devices"
    assert "Expected all tensors to be on the same device" in found["two devices"]


def test_a_device_among_others(found):
    assert found["one of eight"] == ["xla:5", [1.0, 7.0, 5.0], "xla:2", "xla:3"]
    assert found["current"] == ["xla:4", "xla:4"]
    assert found["compiled on one"] == ["xla:5", True]
