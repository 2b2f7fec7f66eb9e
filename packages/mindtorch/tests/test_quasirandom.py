"""Sobol' sequences: PyTorch's points (snapshots/make_quasirandom.py), and what holds for all of them."""

from __future__ import annotations

import copy
import hashlib
import pickle
from pathlib import Path

import numpy as np
import pytest

import mindtorch as torch
from mindtorch.quasirandom import SobolEngine

SNAPSHOT = np.load(Path(__file__).parent / "snapshots" / "quasirandom.npz")
ENGINES = sorted({tuple(key.split()[:3]) for key in SNAPSHOT if key.count(" ") == 3})


@pytest.mark.parametrize("words", ENGINES)
def test_points_are_pytorchs(words):
    dimension, scramble, seed = int(words[0]), words[1] == "True", None if words[2] == "None" else int(words[2])
    engine = SobolEngine(dimension, scramble, seed)
    parts = [engine.draw(3), engine.fast_forward(5).draw(4, dtype=torch.float64), engine.draw_base2(2)]
    parts += [engine.reset().draw(), engine.sobolstate[:50]]
    for i, part in enumerate(parts):
        expected = SNAPSHOT[" ".join((*words, str(i)))]
        assert part.numpy().dtype == expected.dtype
        np.testing.assert_array_equal(part[..., :50].numpy(), expected)


def test_unseeded_scrambling_draws_from_the_default_generator():
    torch.manual_seed(5)
    np.testing.assert_array_equal(SobolEngine(4, True).draw(2).numpy(), SNAPSHOT["unseeded"])
    np.testing.assert_array_equal(torch.rand(2).numpy(), SNAPSHOT["then"])


def test_direction_numbers_of_all_dimensions():
    state = SobolEngine(21201).sobolstate.numpy()
    assert hashlib.sha256(state.tobytes()).digest() == SNAPSHOT["all directions"].tobytes()


@pytest.mark.parametrize("parts", [[7], [1, 6], [3, 0, 4], [2, -3, 2]])
def test_however_points_are_drawn_they_are_the_same(parts):
    """Negative: as many points are skipped."""
    whole = SobolEngine(6, True, 1).draw(7)
    engine, at = SobolEngine(6, True, 1), 0
    for n in parts:
        if n < 0:
            engine.fast_forward(-n)
        else:
            assert torch.equal(engine.draw(n), whole[at : at + n])
        at += abs(n)
    assert engine.num_generated == 7


def test_copies_go_on_alike():
    engine = SobolEngine(3, True, 2)
    engine.draw(5)
    expected = copy.deepcopy(engine).draw(3)
    assert torch.equal(pickle.loads(pickle.dumps(engine)).draw(3), expected)
    out = torch.empty(0)
    assert engine.draw(3, out=out) is out
    assert torch.equal(out, expected)


def test_refusals():
    for dimension in (0, 21202):
        with pytest.raises(ValueError, match=r"Supported range of dimensionality for SobolEngine is \[1, 21201\]"):
            SobolEngine(dimension)
    engine = SobolEngine(3)
    engine.draw(3)
    with pytest.raises(ValueError, match=r"then: n=3\+2\*\*2=7. If you still want"):
        engine.draw_base2(2)
    with pytest.raises(NotImplementedError, match="not implemented for 'Half'"):
        engine.draw(dtype=torch.float16)
    with pytest.raises(RuntimeError, match=r"negative dimension -1: \[-1, 3\]"):
        engine.draw(-1)
    with pytest.raises(RuntimeError, match="sobolstate needs to be of shape"):  # PyTorch reads beside it
        torch._sobol_engine_draw(engine.quasi, 1, engine.sobolstate[:2], 3, 0, None)


def test_representation():
    assert repr(SobolEngine(3)) == "SobolEngine(dimension=3)"
    assert repr(SobolEngine(3, True, 5)) == "SobolEngine(dimension=3, scramble=True, seed=5)"
