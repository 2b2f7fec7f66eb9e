"""Random numbers of the native library are those of NumPy's streams, which snapshots of PyTorch's hold to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mt_backend_cpu import native
from mt_core.random import distributions, sampling
from mt_core.random.engine import MersenneTwister

pytestmark = pytest.mark.skipif(native.library is None, reason="the native library is not used")

library: Any = native.library

#: Around blocks of sixteen, of the words of a twister, and of what is drawn at a time.
SIZES = [*range(41), 623, 624, 625, 2047, 2048, 2049, 5000]


def kept_pairs(out: np.ndarray, mean: float, std: float, engine: MersenneTwister) -> None:
    if out.size >= 16:
        library.fill_normal(engine.drawn_from(), out, mean, std)
    elif out.size:
        kept = engine.next_double_normal
        stream = engine.drawn_from(kept is None or out.size > 1)
        engine.next_double_normal = library.fill_pairs(stream, out, mean, std, kept)


def bernoulli(out: np.ndarray, p: float, engine: MersenneTwister) -> None:
    library.fill_below(engine.drawn_from(out.size > 0), out, int(np.ceil(p * 2.0**53)))


def uniform(out: np.ndarray, low: float, high: float, engine: MersenneTwister) -> None:
    library.fill_uniform(engine.drawn_from(out.size > 0), out, low, high)


def remainders(out: np.ndarray, low: int, span: int, engine: MersenneTwister) -> None:
    library.fill_remainders(engine.drawn_from(out.size > 0), out, low, span)


#: What fills an array -> (the same on NumPy, element types, parameters).
FILLS: dict[Callable[..., None], tuple[Callable[..., None], list[Any], list[tuple[Any, ...]]]] = {
    uniform: (distributions.fill_uniform, [np.float32, np.float64], [(0.0, 1.0), (-2.5, 3.0), (1.0, 1.0000001)]),
    kept_pairs: (distributions.fill_normal, [np.float32], [(0.0, 1.0), (-3.0, 0.7)]),
    bernoulli: (distributions.fill_bernoulli, [np.float32, np.bool_], [(0.0,), (0.3,), (0.5,), (1.0,)]),
    remainders: (distributions.fill_random_range, [np.int64], [(0, 1), (-7, 13), (5, 2**28 - 1)]),
}


@pytest.mark.parametrize("fill", FILLS, ids=lambda f: f.__name__)
def test_arrays_are_filled_as_by_numpy_at_every_level(fill: Callable[..., None]) -> None:
    on_numpy, types, parameters = FILLS[fill]
    level = library.level()
    try:
        for name in library.levels():
            library.use_level(name)
            # One stream for all sizes, so that each begins somewhere else, with or without a kept number.
            for element in types:
                for given in parameters:
                    ours, theirs = MersenneTwister(5), MersenneTwister(5)
                    for size in SIZES:
                        found, expected = np.empty(size, element), np.empty(size, element)
                        fill(found, *given, ours)
                        on_numpy(expected, *given, theirs)
                        assert found.tobytes() == expected.tobytes(), (name, element, given, size)
                        assert ours.get_state().tobytes() == theirs.get_state().tobytes(), (name, element, size)
    finally:
        library.use_level(level)


def test_a_million_normal_numbers_are_those_of_numpy() -> None:
    level = library.level()
    try:
        expected = np.empty(1 << 18, np.float32)
        distributions.fill_normal(expected, 0.0, 1.0, MersenneTwister(11))
        for name in library.levels():
            library.use_level(name)
            found = np.empty(1 << 18, np.float32)
            engine = MersenneTwister(11)  # its state is read through the capsule, which does not keep it
            library.fill_normal(engine.drawn_from(), found, 0.0, 1.0)
            np.testing.assert_array_equal(found, expected, err_msg=name)
    finally:
        library.use_level(level)


@pytest.mark.parametrize("n", [2, 3, 40, 101, 625, 5000])
def test_permutations_are_those_of_numpy(n: int) -> None:
    ours, theirs = MersenneTwister(n), MersenneTwister(n)
    for _ in range(3):
        np.testing.assert_array_equal(library.permutation(ours.drawn_from(), n), sampling.permutation(n, theirs))
    assert ours.get_state().tobytes() == theirs.get_state().tobytes()


def test_what_is_no_stream_or_does_not_fit_is_refused() -> None:
    engine = MersenneTwister(0)
    stream = engine.drawn_from()
    strided = np.empty(80, np.float32)[::2]
    for name, arguments in {
        "fill_uniform": (stream, strided, 0.0, 1.0), "fill_normal": (stream, np.empty(15, np.float32), 0.0, 1.0),
        "fill_below": (stream, np.empty(3, np.float64), 5), "fill_remainders": (stream, np.empty(3, np.int64), 0, 0),
        "fill_pairs": (object(), np.empty(3, np.float32), 0.0, 1.0, None), "permutation": (stream, -1),
    }.items():  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            getattr(library, name)(*arguments)
