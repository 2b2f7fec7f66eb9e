"""What ./dev native does to recorded calls: alters them, and sees what is written beside arrays."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import fuzz_native as fuzz


class Library:
    """In the native library's place."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def set_num_threads(self, count: int) -> None:
        assert 1 <= count <= 3


CALLS: fuzz.Recorded = {"function": [((np.arange(24.0).reshape(4, 6), 2, [np.ones(3, np.float32)]), {})], "silent": []}


def test_calls_are_altered_in_every_way() -> None:
    seen: list[tuple[Any, ...]] = []
    library = Library(lambda *args: seen.append(args))
    for seed in range(300):
        assert fuzz.altered_call(seed, CALLS, library) == "function: returned"
    arrays = [args[0] for args in seen]
    assert {a.ndim for a in arrays} >= {1, 2, 3} and any(a.size == 0 and max(a.shape) > 2**30 for a in arrays)
    assert any(not a.flags.aligned for a in arrays) and any(not a.flags.writeable for a in arrays)
    assert any(s < 0 for a in arrays for s in a.strides) and any(not a.flags.c_contiguous for a in arrays)
    assert {a.dtype.str for a in arrays} >= {"<f8", "<f4", ">f4", "<i8"}
    assert {args[1] for args in seen} >= {2, -1, 2**62}
    plain = [a for a in arrays if a.shape == (4, 6) and a.dtype == np.float64]
    assert all((a.reshape(-1) == np.arange(24.0)).all() for a in plain if a.flags.writeable and a.flags.c_contiguous)


def beside(*args: Any) -> None:
    """Writes the byte behind an array."""
    array = args[0]
    behind = np.lib.stride_tricks.as_strided(array.reshape(-1).view(np.uint8)[-1:], (2,), (1,))
    behind[1] = behind[1] + 1


def test_what_is_written_beside_an_array_is_seen() -> None:
    one = {"function": [((np.ones((2, 2), np.float32),), {"out": None})]}
    guarded = fuzz.Guarded(np.random.default_rng(0), np.ones(5), altered=False)
    assert not guarded.harmed()
    guarded.array[2] = 7
    assert not guarded.harmed()
    beside(guarded.array)
    assert guarded.harmed()
    with pytest.raises(AssertionError, match="function wrote beside its arguments"):
        for seed in range(40):
            fuzz.altered_call(seed, one, Library(beside_of_plain))


def beside_of_plain(array: Any, out: Any = None) -> None:
    if array.size and array.flags.c_contiguous and array.flags.writeable:
        beside(array)


def test_refusals_are_outcomes_and_other_errors_are_not() -> None:
    def refuse(*args: Any) -> None:
        raise ValueError("sizes")

    def stumble(*args: Any) -> None:
        raise AttributeError("nothing")

    assert fuzz.altered_call(0, CALLS, Library(refuse)) == "function: ValueError"
    with pytest.raises(AttributeError):
        fuzz.altered_call(0, CALLS, Library(stumble))
