"""Whatever PyTorch does in the recorded scenarios, mindtorch does too, to the word (snapshots/make_behaviour.py)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import mt_autograd.checkpoint
import mt_autograd.function
from mt_core.testing.namespace import namespace

torch = namespace(autograd=mt_autograd, utils=SimpleNamespace(checkpoint=mt_autograd.checkpoint))

HERE = Path(__file__).parent / "snapshots"
_spec = importlib.util.spec_from_file_location("behaviour_scenarios", HERE / "behaviour_scenarios.py")
scenarios = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(scenarios)
EXPECTED = json.loads((HERE / "behaviour.json").read_text())


def test_every_scenario_is_recorded():
    assert set(EXPECTED) == set(scenarios.SCENARIOS)


@pytest.mark.parametrize("name", list(scenarios.SCENARIOS))
def test_same_as_pytorch(name):
    found = scenarios.outcome(scenarios.SCENARIOS[name], torch)
    assert found == EXPECTED[name]
