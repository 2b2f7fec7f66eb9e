"""What tensors take of Python numbers, where PyTorch's answer is not a matter of one program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mt_core as mt
from mt_core.dispatch.registry import Overload
from mt_core.testing.arguments import samples_on
from mt_core.testing.sample import Sample, declared_operators

_INTEGERS = [mt.uint8, mt.int8, mt.int16, mt.int32, mt.int64, mt.uint16, mt.uint32]


@pytest.mark.parametrize("d", _INTEGERS)
def test_integers_just_within_the_range_are_held_and_those_beyond_are_refused(d: mt.dtype) -> None:
    info = mt.iinfo(d)
    least = info.min if d.is_signed else -info.max
    for held in (least, info.min, info.max):
        assert mt.tensor([held], dtype=d).tolist() == [held % (info.max + 1) if held < info.min else held]
    for beyond in (least - 1, info.max + 1):
        with pytest.raises((RuntimeError, ValueError), match="overflow|Overflow"):
            mt.tensor([beyond], dtype=d)
        with pytest.raises((RuntimeError, OverflowError)):
            mt.zeros(2, dtype=d).fill_(beyond) if abs(beyond) < 2**63 else mt.full((2,), float(beyond) * 2, dtype=d)


def test_floats_out_of_range_become_the_least_integer_on_the_way() -> None:
    values = mt.tensor([float("nan"), float("inf"), -float("inf"), 2.0**31, 2.0**40 + 9], dtype=mt.float64)
    assert values.to(mt.int32).tolist() == [-(2**31)] * 5
    assert values.to(mt.int16).tolist() == values.to(mt.int32).to(mt.int16).tolist()
    assert values.to(mt.uint8).tolist() == values.to(mt.int64).to(mt.uint8).tolist()


def test_a_real_number_fills_only_the_real_part_of_a_pair_of_halves() -> None:
    filled = mt.zeros(2, dtype=mt.complex32).masked_fill(mt.tensor([True, False]), -1)
    assert filled.to(mt.complex64).tolist() == [-1, 0]


def test_an_array_is_converted_as_a_tensor_would_be() -> None:
    assert mt.tensor(np.array([300]), dtype=mt.uint8).tolist() == [44]


def number_arguments(overload: Overload, sample: Sample) -> Iterator[tuple[int, str]]:
    """(position, name) of the numbers among a sample's arguments."""
    for i, argument in enumerate(overload.schema.arguments):
        given = sample.args[i] if i < len(sample.args) else sample.kwargs.get(argument.name)
        if argument.type == "Scalar" and not argument.is_list and type(given) in (int, float):
            yield i, argument.name


def functions_of_numbers() -> Iterator[tuple[str, Sample, int, str]]:
    """A sample of every public function for each of its arguments that is a number."""
    for overload in declared_operators():
        seen: set[int] = set()
        if not hasattr(mt, overload.name.partition(".")[0]):
            continue
        for sample in samples_on(overload, "cpu"):
            for i, name in number_arguments(overload, sample):
                if i not in seen:
                    seen.add(i)
                    yield overload.name.partition(".")[0], sample, i, name


@pytest.mark.parametrize(
    ("number", "words"),
    [(2**64, "int too big to convert"), (-(2**63) - 1, "can't convert negative int to unsigned")],
)
def test_no_function_takes_a_number_beyond_64_bits(number: int, words: str) -> None:
    asked = set()
    for name, sample, i, argument in functions_of_numbers():
        args, kwargs = list(sample.args), dict(sample.kwargs)
        if i < len(args):
            args[i] = number
        else:
            kwargs[argument] = number
        with pytest.raises(OverflowError, match=words):
            pytest.fail(f"{name} took it: {getattr(mt, name)(*args, **kwargs)}")
        asked.add(name)
    assert len(asked) > 60


@pytest.mark.parametrize("key", [0, slice(0, 1), [0], [True, False]])
@pytest.mark.parametrize("d", [mt.float32, mt.int64, mt.uint8, mt.bool, mt.complex64])
def test_what_is_assigned_is_within_int64(d: mt.dtype, key: Any) -> None:
    x = mt.zeros(2, dtype=d)
    for number in (2**63, 2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            x[key] = number
    assert x.tolist() == [0, 0] and x._version == 0


@pytest.mark.parametrize("key", [0, slice(0, 1), [0], [True, False]])
def test_what_is_assigned_is_within_the_dtype(key: Any) -> None:
    for d, number, name in ((mt.uint8, 300, "uint8_t"), (mt.int16, 2.0**15, "int16_t"), (mt.float32, 1e39, "float")):
        with pytest.raises(RuntimeError, match=f"value cannot be converted to type {name} without overflow"):
            mt.zeros(2, dtype=d)[key] = number
