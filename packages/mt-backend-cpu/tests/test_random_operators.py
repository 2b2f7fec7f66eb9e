"""Random functions against what PyTorch prints for them (snapshots/make_random_operators.py)."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import mt_autograd
from mt_core.testing.namespace import namespace

torch = namespace(autograd=mt_autograd)

CASES = json.loads((Path(__file__).parent / "snapshots" / "random_operators.json").read_text())


@pytest.fixture(autouse=True)
def settings():
    torch.set_printoptions(precision=8)
    yield
    torch.set_printoptions(profile="default")
    torch.set_default_dtype(torch.float32)


def shown(value):
    if isinstance(value, (tuple, list)):
        return ", ".join(shown(v) for v in value)
    return f"{value!r} {tuple(value.stride())}" if isinstance(value, torch.Tensor) else repr(value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("dtype", "expression", "expected"), CASES, ids=[f"{e}-{d}" for d, e, _ in CASES])
def test_result_error_and_state_are_pytorchs(dtype, expression, expected):
    d = getattr(torch, dtype)
    torch.set_default_dtype(d if d.is_floating_point else torch.float32)
    torch.manual_seed(1234)
    names = {"torch": torch, "X": torch.rand(2, 3), "Y": torch.rand(2, 3), "I": torch.zeros(2, 3, dtype=d)}
    names["R"] = torch.tensor([0.25, 0.75], dtype=torch.float32, requires_grad=True)
    try:
        result = shown(eval(expression, names))  # noqa: S307
    except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
        result = f"{type(error).__name__}: {error}"
    assert f"{result} | next word {torch.randint(2**27, ()).item()}" == expected


def test_same_seed_same_numbers():
    first, second = torch.manual_seed(5), None
    a = torch.rand(100)
    second = torch.manual_seed(5)
    assert first is second is torch.default_generator
    assert torch.equal(a, torch.rand(100))


def test_state_continues_the_stream():
    torch.manual_seed(7)
    torch.randn(5)
    state = torch.get_rng_state()
    a = torch.randn(5)
    torch.set_rng_state(state)
    assert torch.equal(a, torch.randn(5))


def test_fork_leaves_the_stream_as_it_was():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        torch.rand(1000)
    assert torch.equal(expected, torch.rand(3))


def test_fork_refuses_devices_that_are_not_there():
    with (
        pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"),
        torch.random.fork_rng(devices=["cuda:0"]),
    ):
        pass


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda g: pickle.loads(pickle.dumps(g))])
def test_copies_of_a_generator_continue_its_stream(copied):
    generator = torch.Generator().manual_seed(11)
    torch.randn(3, generator=generator)
    twin = copied(generator)
    assert twin.initial_seed() == 11
    assert torch.equal(torch.randn(3, generator=twin), torch.randn(3, generator=generator))


def test_clone_state_is_independent():
    generator = torch.Generator().manual_seed(11)
    twin = generator.clone_state()
    torch.rand(5, generator=twin)
    assert torch.equal(generator.get_state(), torch.Generator().manual_seed(11).get_state())


def test_generators_start_from_pytorchs_default_seed():
    assert torch.Generator().initial_seed() == 67280421310721
    assert torch.Generator().device == torch.device("cpu")


@pytest.mark.parametrize(
    ("seed", "error", "message"),
    [
        (1.0, RuntimeError, "manual_seed expected a long, but got float"),
        (True, RuntimeError, "manual_seed expected a long, but got bool"),
        (2**64, ValueError, "Overflow when unpacking long long"),
        (-(2**63) - 1, ValueError, "Overflow when unpacking long long"),
    ],
)
def test_seeds_that_are_refused(seed, error, message):
    generator = torch.Generator().manual_seed(3)
    with pytest.raises(error, match=message):
        generator.manual_seed(seed)
    assert generator.initial_seed() == 3


@pytest.mark.parametrize(("seed", "taken"), [(-1, 2**64 - 1), (2**64 - 1, 2**64 - 1), (-(2**63), 2**63)])
def test_seeds_at_the_ends(seed, taken):
    assert torch.Generator().manual_seed(seed).initial_seed() == taken


def test_states_that_are_refused():
    generator = torch.Generator()
    state = generator.get_state()
    with pytest.raises(TypeError, match="expected a torch.ByteTensor, but got int"):
        generator.set_state(1)
    with pytest.raises(TypeError, match="RNG state must be a torch.ByteTensor"):
        generator.set_state(torch.zeros(5056))
    with pytest.raises(RuntimeError, match="RNG state must be contiguous"):
        generator.set_state(torch.zeros(2 * 5056, dtype=torch.uint8)[::2])
    assert torch.equal(generator.get_state(), state)


def test_other_devices_are_named():
    with pytest.raises(RuntimeError, match="META"):
        torch.Generator("meta")


def test_what_only_accelerators_have():
    generator = torch.Generator()
    for call in (generator.get_offset, lambda: generator.set_offset(1)):
        with pytest.raises(RuntimeError, match="CPU Generator does not use offset"):
            call()
    with pytest.raises(NotImplementedError, match="graphsafe_get_state"):
        generator.graphsafe_get_state()


def test_a_generator_leaves_the_default_stream_alone():
    before = torch.get_rng_state()
    generator = torch.Generator().manual_seed(1)
    torch.rand(3, generator=generator)
    torch.empty(3).normal_(generator=generator)
    torch.bernoulli(torch.full((3,), 0.5), generator=generator)
    assert torch.equal(before, torch.get_rng_state())


def test_unpredictable_seeds_differ():
    assert torch.Generator().seed() != torch.Generator().seed()


def test_dropout_keeps_the_mean_and_scales():
    torch.manual_seed(0)
    result = torch.dropout(torch.ones(10000), 0.25, True)
    assert set(result.tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
    assert abs(result.mean().item() - 1) < 0.05


def test_views_are_filled_in_place_and_counted():
    base = torch.zeros(4, 6)
    version = base._version
    base[:, ::2].uniform_(1, 2)
    assert base._version == version + 1
    assert (base[:, 1::2] == 0).all() and (base[:, ::2] >= 1).all()


def test_threads_share_one_stream():
    """Every number is drawn once, from the very first on; a fresh interpreter has nothing loaded yet."""
    program = """
import threading
import mt_core as torch
torch.manual_seed(0)
drawn, start = [], threading.Barrier(8)
def draw():
    start.wait()
    for _ in range(50):
        drawn.append(torch.rand(20)), drawn.append(torch.randn(20))
threads = [threading.Thread(target=draw) for _ in range(8)]
[t.start() for t in threads], [t.join() for t in threads]
assert len(drawn) == len({tuple(t.tolist()) for t in drawn}) == 800
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
