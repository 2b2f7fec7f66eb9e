"""complex32 beside numbers and tensors of other dtypes: computed in complex64, of what complex32 holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import mt_core as mt

HALF = mt.tensor([0.0, 1.0, 2.5 - 1j, 3.0], dtype=mt.complex64).to(mt.complex32)
WIDE = HALF.to(mt.complex64)

OTHERS = [2, 1 / 3, 1 / 3 - 2j, mt.tensor(1 / 3), mt.tensor(2j), mt.ones(4).half() / 3, HALF]
OPERATORS: dict[str, Callable[..., mt.Tensor]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "rsub": lambda x, y: y - x,
    "where": lambda x, y: mt.where(x.real > 1, x, y),
    "eq": lambda x, y: x == y,
}


def _held(other: object) -> object:
    """An operand as complex32 holds it."""
    value = other if isinstance(other, mt.Tensor) else mt.tensor(other)
    return value.to(mt.complex32).to(mt.complex64)


@pytest.mark.parametrize("other", OTHERS, ids=str)
@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_operands_are_rounded_to_it(operator: Callable[..., mt.Tensor], other: object) -> None:
    result = operator(HALF, other)
    expected = operator(WIDE, _held(other))
    assert result.dtype is (mt.bool if expected.dtype is mt.bool else mt.complex32)
    assert mt.equal(result.to(mt.complex64), expected.to(result.dtype).to(mt.complex64))


def test_comparisons_within_a_tolerance() -> None:
    assert mt.isclose(HALF, HALF + 1e-4, atol=1e-3).all() and mt.allclose(HALF, HALF)
    assert HALF.masked_fill(HALF == 1, 1 + 1j)[1].item() == 1 + 1j
