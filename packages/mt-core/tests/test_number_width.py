"""Integers of classes derived from int are numbers as any other: their width is found without going through a range."""

from enum import IntEnum

import pytest

import mt_core


class Size(IntEnum):
    TWO = 2


class Wide(int):
    pass


@pytest.mark.timeout(20)
def test_numbers_of_derived_classes():
    assert mt_core.add(mt_core.ones(1), Size.TWO).item() == 3
    assert mt_core.ones(1).mul(Size.TWO).item() == 2
    with pytest.raises(OverflowError, match="int too big to convert"):
        mt_core.ones(1).mul(Wide(2**64))
