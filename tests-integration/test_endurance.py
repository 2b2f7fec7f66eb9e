"""The long runs, in short; and that they notice what they are for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import mindtorch

pytest.importorskip("resource", reason="memory and limits of processes are read in POSIX's way")

from tools.endurance import chains, loading, saving, training
from tools.endurance.__main__ import RUNS, result_of
from tools.endurance.memory import Watch


@pytest.mark.parametrize("name", RUNS)
def test_a_short_run_is_clean(name: str) -> None:
    complaints = result_of(name, 0.005, 300)
    # A run this short still fills caches: how its memory grows says nothing, and `Watch` has a test of its own.
    assert not [complaint for complaint in complaints if "memory grew" not in complaint], complaints


def test_a_run_that_ends_or_hangs_is_a_complaint() -> None:
    assert "not done in 0 s" in result_of("training", 1.0, 0)[0]
    assert "ended with status" in result_of("nothing", 1.0, 60)[0]


def test_memory_may_grow_by_a_twentieth() -> None:
    for sizes, grew in (([100, 200, 105], False), ([100, 100, 106], True)):
        watch = Watch(30, measure=iter([sizes[0], sizes[-1]]).__next__)
        for _ in range(30):
            watch.step()
        assert bool(watch.complaints()) is grew


def test_a_wrong_gradient_of_a_chain_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(chains.STEPS, "scaled", lambda value: value * 2)
    assert any("scaled: the gradient after 10 nodes" in complaint for complaint in chains.run(1e-6))


def test_a_loss_that_grows_and_threads_that_differ_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mindtorch.optim.Adam, "step", lambda self: None)
    assert any("the loss was" in complaint for complaint in training.run(1e-5))
    noise = iter(range(10**6))
    monkeypatch.setattr(training.Learner, "train", lambda self, steps: self.model[0].bias.data.fill_(next(noise)))
    assert any("learned something else" in complaint for complaint in training.run_threads(1e-3))


def test_a_fault_that_is_silent_or_says_something_else_is_noticed() -> None:
    silent = loading.Fault(lambda: mindtorch.ones(2), ValueError, "")
    assert list(loading._met(silent, {"batch_size": 2})) == ["goes unnoticed"]
    other = loading.Fault(lambda: int("no"), ValueError, "yes")
    assert "says" in next(loading._met(other, {"batch_size": 2}))


def test_a_broken_file_and_litter_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    mindtorch.save(saving._block(1), path)
    assert not list(saving._unwhole(path, {1})) and not list(saving._litter(path))
    assert list(saving._unwhole(path, {2}))
    os.link(path, tmp_path / "left")
    assert list(saving._litter(path)) == ["left behind: ['left']"]
