"""Tensors of one number, in every dtype."""

from __future__ import annotations

import pytest

import mt_core

DTYPES = [
    mt_core.bool, mt_core.uint8, mt_core.int8, mt_core.uint16, mt_core.int64, mt_core.float16, mt_core.bfloat16,
    mt_core.float32, mt_core.float64, mt_core.complex32, mt_core.complex64, mt_core.complex128, mt_core.float8_e4m3fn,
]  # fmt: skip


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("d", DTYPES, ids=str)
def test_every_way_to_fill_gives_the_number(d: mt_core.dtype, number: int) -> None:
    x = mt_core.empty(2, dtype=d)
    if number:
        made = [mt_core.ones(2, dtype=d), mt_core.ones_like(x), x.new_ones(2)]
    else:
        made = [mt_core.zeros(2, dtype=d), mt_core.zeros_like(x), x.new_zeros(2), x.clone().zero_()]
    for filled in (*made, mt_core.full((2,), number, dtype=d), x.fill_(number), x.clone().fill_(float(number))):
        assert filled.dtype is d and filled.to(mt_core.complex64).tolist() == [number, number]


def test_ones_like_a_transposed_tensor_lie_as_it_does() -> None:
    assert mt_core.ones_like(mt_core.zeros(2, 3).t()).stride() == (1, 3)


def test_random_factories_count_no_write() -> None:
    for made in (mt_core.rand(2), mt_core.randn(2), mt_core.randint(3, (2,)), mt_core.rand_like(mt_core.ones(2))):
        assert made._version == 0
    generator = mt_core.Generator().manual_seed(0)
    assert mt_core.randn(2, generator=generator)._version == 0
