"""Compiled programs on disk: another process compiles nothing that is there."""

from __future__ import annotations

import os
import subprocess
import sys

import jax
import pytest

from mt_xla.cache import folder, keep_programs

PROGRAM = """
import sys
import jax
found = {"hits": 0, "misses": 0}
def count(event, **facts):
    name = event.removeprefix("/jax/compilation_cache/cache_")
    if name in found:
        found[name] += 1
jax.monitoring.register_event_listener(count)
import mindtorch as torch
model = torch.nn.Linear(3, 2)
for factor in map(float, sys.argv[1:]):
    def step(x):
        loss = model(x).square().sum() * factor
        loss.backward()
        return loss.detach()
    run = torch.compile(step, backend="xla", fullgraph=True)
    expected = model(torch.ones(4, 3)).square().sum().detach() * factor
    for _ in range(2):
        torch.testing.assert_close(run(torch.ones(4, 3)), expected)
    print(found["hits"], found["misses"])
"""


def compiles(*factors, **environment):
    """How many programs a process has found, and how many it has compiled, after each of these."""
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, *factors],
        capture_output=True, text=True, timeout=200, env={**os.environ, **environment},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return [tuple(map(int, line.split())) for line in run.stdout.splitlines()]


def test_a_second_process_compiles_nothing_and_another_program_is_another(tmp_path):
    ((hits, misses),) = compiles("2", MINDTORCH_CACHE_DIR=str(tmp_path))
    assert (hits, misses > 0) == (0, True)
    assert list(tmp_path.glob("xla/*/*"))
    same, other = compiles("2", "3", MINDTORCH_CACHE_DIR=str(tmp_path))
    assert same == (misses, 0)
    assert other[1] > 0


@pytest.fixture
def settings():
    names = ("jax_compilation_cache_dir", "jax_enable_compilation_cache", "jax_persistent_cache_min_compile_time_secs")
    names += ("jax_persistent_cache_min_entry_size_bytes",)
    before = {name: getattr(jax.config, name) for name in names}
    yield
    for name, value in before.items():
        jax.config.update(name, value)


@pytest.mark.parametrize("where, keeps", [("of the user", True), (None, False), (None, True)])
def test_what_jax_was_told_goes_first(where, keeps, settings, monkeypatch, tmp_path):
    monkeypatch.setenv("MINDTORCH_CACHE_DIR", str(tmp_path))
    jax.config.update("jax_compilation_cache_dir", where)
    jax.config.update("jax_enable_compilation_cache", keeps)
    keep_programs()
    assert folder().parent == tmp_path / "xla"
    assert jax.config.jax_compilation_cache_dir == (where if where or not keeps else str(folder()))
