"""Arithmetic of complex32, whose elements are pairs of halves: as in complex64, rounded."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import mindtorch as torch
from mindtorch import Tensor

_FORMULAS: list[Callable[[Tensor], Tensor]] = [
    lambda x: x + x,
    lambda x: x - x,
    lambda x: x + 1,
    lambda x: x - 1j,
    lambda x: 2 - x,
    lambda x: x * 2,
    lambda x: torch.add(x, x, alpha=2),
    lambda x: torch.sub(x, x, alpha=1j),
    lambda x: x + torch.tensor(0.5),
]


@pytest.mark.parametrize("formula", _FORMULAS)
def test_numbers_beside_complex_halves_are_taken(formula: Callable[[Tensor], Tensor]) -> None:
    x = torch.tensor([1 + 2j, -3 + 0.5j])
    assert torch.equal(formula(x.to(torch.complex32)).to(torch.complex64), formula(x))


def test_complex_halves_are_close_to_themselves() -> None:
    x = torch.tensor([1 + 2j, -3 + 0.5j]).to(torch.complex32)
    assert torch.isclose(x, x).all()
    assert not torch.isclose(x, x + 1).any()
