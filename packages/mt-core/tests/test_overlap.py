"""Writing where memory overlaps: refused as PyTorch refuses it, and nothing is written."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mt_core
from mt_core.dispatch.repeated_writes import visits

INTERNAL = "more than one element of the written-to tensor refers to a single memory location"
PARTIAL = "some elements of the input tensor and the written-to tensor refer to a single memory location"


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x.copy_(mt_core.ones(3)),
        lambda x: x.exp_(),
        lambda x: mt_core.add(mt_core.ones(3), 1, out=x),
        lambda x: x.clamp_(0, 1),
    ],
)
def test_a_tensor_that_overlaps_itself(write) -> None:
    base = mt_core.ones(1)
    with pytest.raises(RuntimeError, match=INTERNAL):
        write(base.expand(3))
    assert base.tolist() == [1] and base._version == 0


def test_one_value_may_be_written_to_one_place_many_times() -> None:
    base = mt_core.ones(1)
    assert base.expand(3).fill_(2).tolist() == [2, 2, 2]
    assert base.expand(3).zero_().tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x[1:].add_(x[:-1]),
        lambda x: x[1:].mul_(x[:-1]),
        lambda x: mt_core.add(x[:-1], 1, out=x[1:]),
        lambda x: mt_core.exp(x[:-1], out=x[1:]),
    ],
)
def test_partial_overlap_with_what_is_read(write) -> None:
    base = mt_core.arange(4.0)
    with pytest.raises(RuntimeError, match=PARTIAL):
        write(base)
    assert base.tolist() == [0, 1, 2, 3] and base._version == 0


def test_the_very_same_memory_is_no_overlap() -> None:
    x = mt_core.arange(4.0)
    assert mt_core.add(x, x, out=x).tolist() == [0, 2, 4, 6]
    assert x.mul_(x).tolist() == [0, 4, 16, 36]


def test_reading_ahead_of_what_is_written() -> None:
    x = mt_core.arange(9.0).view(3, 3)
    expected = (x + x.t()).tolist()
    assert x.clone().add_(x.t()).tolist() == expected


def test_versions_count_every_write() -> None:
    x = mt_core.zeros(2)
    for count, write in enumerate(
        (lambda: x.add_(1), lambda: x.zero_(), lambda: mt_core.exp(mt_core.ones(2), out=x), lambda: x.copy_(x + 1)), 1
    ):
        write()
        assert x._version == count


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda x: x.add_(mt_core.ones(5, 2)), r"output with shape \[2\] doesn't match the broadcast shape \[5, 2\]"),
        (lambda x: x.add_(1j), "result type ComplexFloat can't be cast to the desired output type Float"),
        (
            lambda x: mt_core.add(x.long(), 1.5, out=x.long()),
            "result type Float can't be cast to the desired output type Long",
        ),
    ],
)
def test_what_is_refused_counts_no_version(write, words: str) -> None:
    x = mt_core.ones(2)
    with pytest.raises(RuntimeError, match=words):
        write(x)
    assert x.tolist() == [1, 1] and x._version == 0


@pytest.mark.parametrize(
    ("shape", "strides"), [((3, 4), (4, 1)), ((4, 3), (1, 4)), ((3, 1, 4), (8, 1, 2)), ((2, 3), (1, 2)), ((5,), (7,))]
)
def test_indices_that_reach_elements_of_their_own_need_no_turns(
    shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    assert visits(shape, strides) is None


@pytest.mark.parametrize(("shape", "strides"), [((4, 3), (1, 1)), ((5, 5, 2), (4, 5, 7)), ((40, 30), (1, 2))])
def test_each_element_is_written_in_the_order_of_its_indices(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    memory = mt_core.zeros(200, dtype=mt_core.float64)
    factors = mt_core.arange(float(np.prod(shape)), dtype=mt_core.float64).view(shape)
    expected = memory.numpy().copy()
    outer_first = sorted(range(len(shape)), key=lambda axis: -strides[axis])
    for index in itertools.product(*(range(shape[axis]) for axis in outer_first)):
        at = dict(zip(outer_first, index, strict=True))
        place = sum(strides[axis] * i for axis, i in at.items())
        expected[place] += 0.5 * (factors[tuple(at[axis] for axis in range(len(shape)))].item() - expected[place])
    memory.as_strided(shape, strides).lerp_(factors, 0.5)
    np.testing.assert_allclose(memory.numpy(), expected, rtol=1e-12)
