"""Programs cannot tell that they run inside of a pipeline: random ones (`pipeline_programs`) and recorded ones."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
from mt_core.pipeline import calls
from mt_core.testing.proofs import registered_proof

from . import pipeline_programs
from .everyday_programs import PROGRAMS

_SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(_SNAPSHOTS))

from describing import outcome  # noqa: E402

registered_proof("boxed")
_RECORDED = [
    program for answers in json.loads((_SNAPSHOTS / "programs.json").read_text()).values() for program in answers
]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_programs_see_what_they_see_without_a_pipeline(first: int) -> None:
    differing = [text for seed in range(first, first + 20) if (text := pipeline_programs.difference(seed))]
    assert differing == []


def test_most_calls_of_the_programs_are_put_off() -> None:
    pipelines = [pipeline_programs.outcome(seed, pipelined=True)[1] for seed in range(40)]
    queued = sum(pipeline.queued for pipeline in pipelines)
    assert queued > 4 * sum(pipeline.immediate for pipeline in pipelines)
    assert queued > 3 * sum(pipeline.flushes for pipeline in pipelines)
    assert sum(pipeline.dropped for pipeline in pipelines) > 0


def test_a_planted_fault_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls carried out in another order, and states that are not restored, do not pass."""
    monkeypatch.setattr(calls.State, "enter", lambda self: None)
    differing = [text for seed in range(20) if (text := pipeline_programs.difference(seed))]
    assert differing


@pytest.mark.parametrize("device", ["cpu", "boxed"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs_of_every_day_give_what_they_give_without_a_pipeline(
    program: Callable[[str], Any], device: str
) -> None:
    wanted = program(device)
    with torch.pipeline():
        found = program(device)
    assert repr(found) == repr(wanted)


@pytest.mark.parametrize("first", range(8))
def test_recorded_programs_give_what_they_give_without_a_pipeline(first: int) -> None:
    """Every 80th of them from each start; values, layouts, errors and warnings."""
    differing = []
    for program in _RECORDED[first * 10 :: 80]:
        expected = outcome(torch, program)
        found = outcome(torch, program, within=torch.pipeline)
        if found != expected:
            differing.append((program, found, expected))
    assert differing == []
