"""What tensors take of Python numbers, where PyTorch's answer is not a matter of one program."""

from __future__ import annotations

import numpy as np
import pytest

import mt_core as mt

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
