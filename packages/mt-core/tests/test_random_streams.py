"""The array-level streams against digests and samples that PyTorch made (snapshots/make_random_streams.py)."""

from __future__ import annotations

import hashlib
import json
import platform
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from mt_core.random import distributions, sampling
from mt_core.random.arithmetic import fma_double, log_single, sincos_single, single
from mt_core.random.engine import STATE_BYTES, MersenneTwister

SNAPSHOTS = Path(__file__).parent / "snapshots"
STREAMS = json.loads((SNAPSHOTS / "random_streams.json").read_text())
SAMPLES = np.load(SNAPSHOTS / "random_samples.npz")
SEED = STREAMS["seed"]
LAYOUTS = [json.loads(layout) for layout in STREAMS["layouts"]]
FLOATING = ["float32", "float64", "float16", "bfloat16"]

#: The C library of the machine decides the last bit of these in float64; the recorded one is glibc's.
OF_THE_C_LIBRARY = {"normal", "normal 0.1 0.37", "log_normal", "exponential", "cauchy"}


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def fill_random(out, engine, low=None, high=None):
    if low is None:
        return distributions.fill_random(out, engine)
    high = 2**63 if high is None else high
    return distributions.fill_random_range(out, low, high - low, engine)


FILLS = {
    "uniform": distributions.fill_uniform,
    "normal": distributions.fill_normal,
    "log_normal": distributions.fill_log_normal,
    "exponential": distributions.fill_exponential,
    "cauchy": distributions.fill_cauchy,
    "geometric": distributions.fill_geometric,
    "bernoulli": distributions.fill_bernoulli,
    "random": lambda out, *rest: fill_random(out, rest[-1], *rest[:-1]),
}


def laid_out(layout, dtype):
    shape, permutation, step = layout
    array = np.empty(shape, dtype).transpose(permutation)
    return array[..., ::step] if step != 1 else array


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()[:10]


CASES = [(name, dtype) for name, recorded in STREAMS["distributions"].items() for dtype in recorded["dtypes"]]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_stream_is_pytorchs_bit_for_bit(name, dtype):
    if dtype == "float64" and name in OF_THE_C_LIBRARY and platform.libc_ver()[0] != "glibc":
        pytest.skip("the last bit of float64 numbers is the C library's")
    recorded = STREAMS["distributions"][name]
    engine = MersenneTwister(SEED)
    for layout, expected in zip(LAYOUTS, recorded["dtypes"][dtype]["digests"].split(), strict=True):
        array = laid_out(layout, numpy_dtype(dtype))
        with np.errstate(all="ignore"):
            FILLS[name.split()[0]](array, *recorded["arguments"], engine)
        assert digest(array) == expected, f"{name} of {dtype}, laid out as {layout}"
    assert digest(engine.get_state()) == recorded["dtypes"][dtype]["state"]


def test_state_has_pytorchs_bytes():
    engine = MersenneTwister(3)
    before, after = np.empty(3, np.float32), np.empty(5, np.float32)
    distributions.fill_normal(before, 0.0, 1.0, engine)
    assert np.array_equal(before, SAMPLES["before"])
    assert np.array_equal(engine.get_state(), SAMPLES["state"])
    other = MersenneTwister(0)
    other.set_state(SAMPLES["state"])
    distributions.fill_normal(after, 0.0, 1.0, other)
    assert np.array_equal(after, SAMPLES["after"])
    assert other.seed == 3


def test_state_at_the_ends_of_a_block():
    engine = MersenneTwister(2**64 - 1)
    assert np.array_equal(engine.get_state(), SAMPLES["state_negative_seed"])
    engine.uniform_float(624)
    assert np.array_equal(engine.get_state(), SAMPLES["state_block_used_up"])


@pytest.mark.parametrize("drawn", [0, 1, 623, 624, 625, 2000])
def test_state_round_trip_continues_the_stream(drawn):
    engine, other = MersenneTwister(7), MersenneTwister(8)
    engine.skip(drawn)
    engine.next_double_normal, engine.next_float_normal = 0.25, -1.5
    other.set_state(engine.get_state())
    assert np.array_equal(other.get_state(), engine.get_state())
    assert np.array_equal(other.words(1300), engine.words(1300))
    assert (other.next_double_normal, other.next_float_normal, other.seed) == (0.25, -1.5, 7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state[:-1], f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found .* 5055"),
        (lambda state: np.zeros_like(state), "Invalid mt19937 state"),
        (lambda state: np.concatenate([state[:8], state[:4] * 0 + 77, state[12:]]), "Invalid mt19937 state"),
    ],
)
def test_damaged_state_is_refused_and_changes_nothing(change, message):
    engine = MersenneTwister(7)
    engine.skip(100)
    before = engine.get_state()
    with pytest.raises(RuntimeError, match=message):
        engine.set_state(change(MersenneTwister(9).get_state()))
    assert np.array_equal(engine.get_state(), before)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 17, 1000])
def test_permutation(n):
    assert np.array_equal(sampling.permutation(n, MersenneTwister(SEED)), SAMPLES[f"randperm {n}"])


def test_shuffle_of_huge_permutations_permutes(monkeypatch):
    monkeypatch.setattr(sampling, "LARGE_PERMUTATION", 50)
    assert sorted(sampling.permutation(1000, MersenneTwister(1))) == list(range(1000))


@pytest.mark.parametrize("dtype", FLOATING)
def test_bernoulli_of_probabilities(dtype):
    p = SAMPLES["probabilities"].astype(numpy_dtype(dtype))
    out = np.empty(p.shape, p.dtype)
    distributions.fill_bernoulli_from(out, p, MersenneTwister(SEED))
    assert np.array_equal(out.astype(np.float32), SAMPLES[f"bernoulli {dtype}"])


def test_bernoulli_follows_the_memory_of_the_output():
    p = SAMPLES["probabilities"].T
    out = np.empty(p.shape, np.float32)
    distributions.fill_bernoulli_from(out, p, MersenneTwister(SEED))
    assert np.array_equal(out, SAMPLES["bernoulli transposed"])


@pytest.mark.parametrize("dtype", FLOATING)
def test_multinomial_with_replacement(dtype):
    weights = SAMPLES["probabilities"].astype(numpy_dtype(dtype))
    drawn = sampling.multinomial_with_replacement(weights, 200, MersenneTwister(SEED))
    assert np.array_equal(drawn, SAMPLES[f"multinomial {dtype}"])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [1, 7])
def test_multinomial_without_replacement(dtype, count):
    weights = SAMPLES["probabilities"].astype(dtype)
    drawn = sampling.multinomial_without_replacement(weights, count, MersenneTwister(SEED))
    assert np.array_equal(drawn, SAMPLES[f"multinomial without {count} {dtype}"])


@pytest.mark.parametrize("scale", [0.5, 8.0, 40.0, 1e5])
def test_counts_of_unknown_length(scale):
    """Poisson and binomial numbers take as many words as they need, and give back the rest of a block."""
    p = SAMPLES["probabilities"]
    engine = MersenneTwister(SEED)
    assert np.array_equal(sampling.poisson(p * np.float32(scale), engine), SAMPLES[f"poisson {scale}"])
    engine = MersenneTwister(SEED)
    counts = np.floor(np.full_like(p, scale))
    assert np.array_equal(sampling.binomial(counts, p, engine), SAMPLES[f"binomial {scale}"])


def test_unused_numbers_are_given_back():
    engine, other = MersenneTwister(5), MersenneTwister(5)
    with engine.uniform_doubles() as uniform:
        taken = [next(uniform) for _ in range(300)]
    assert taken == other.uniform_double(300).tolist()
    assert np.array_equal(engine.get_state(), other.get_state())


def test_binomial_edges():
    counts = np.array([0.0, 5.0, 5.0, 5.0])
    drawn = sampling.binomial(counts, np.array([0.5, 0.0, 1.0, np.nan]), MersenneTwister(1))
    assert np.array_equal(drawn, [0.0, 0.0, 5.0, np.nan], equal_nan=True)


def test_fused_multiply_add_rounds_once():
    from fractions import Fraction

    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=2000), 1.0 / 3, -0.1
    exact = [float(Fraction(x) * Fraction(b) + Fraction(c)) for x in a.tolist()]
    assert fma_double(a, b, c).tolist() == exact


def test_rounded_float64_arithmetic_is_float32_arithmetic():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 5000)).astype(np.float32)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    assert np.array_equal(single(wide_a + wide_b), a + b)
    assert np.array_equal(single(wide_a * wide_b), a * b)
    assert np.array_equal(single(np.sqrt(np.abs(wide_a))), np.sqrt(np.abs(a)))


def test_fused_multiply_add_of_infinities():
    with np.errstate(all="ignore"):
        assert fma_double(np.array([np.inf, 1.0]), 2.0, 3.0).tolist() == [np.inf, 5.0]
        assert fma_double(np.array([1.0, -1.0]), np.inf, 0.0).tolist() == [np.inf, -np.inf]


def test_single_precision_functions_are_close_to_the_true_ones():
    x = single(np.linspace(2.0**-24, 1, 10001))
    assert np.allclose(log_single(x), np.log(x), rtol=2e-7, atol=1e-7)
    angles = single(np.linspace(0, 6.2831, 10001))
    sin, cos = sincos_single(angles)
    assert np.allclose(sin, np.sin(angles), rtol=0, atol=2e-7)
    assert np.allclose(cos, np.cos(angles), rtol=0, atol=2e-7)
