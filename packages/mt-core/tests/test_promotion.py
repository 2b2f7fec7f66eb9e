"""Type promotion against PyTorch's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mt_core
from mt_core.dtypes import can_cast, promote_types
from mt_core.promotion import result_type_of

SNAPSHOT = json.loads((Path(__file__).parent / "snapshots" / "promotion.json").read_text())
NUMBERS = {"bool": True, "int": 2, "float": 1.5, "complex": 1j}
DTYPES = sorted({key.split()[0] for key in SNAPSHOT["can_cast"]})


def operand(dtype: str, dims: str) -> mt_core.Tensor:
    return mt_core.empty((1,) * int(dims), dtype=getattr(mt_core, dtype), device="meta")


def test_pairs_of_tensors() -> None:
    for key, expected in SNAPSHOT["tensors"].items():
        a, m, b, n = key.split()
        assert result_type_of([operand(a, m), operand(b, n)]) is getattr(mt_core, expected), key


def test_tensors_with_numbers() -> None:
    for key, expected in SNAPSHOT["numbers"].items():
        dtype, dims, kind = key.split()
        assert result_type_of([operand(dtype, dims), NUMBERS[kind]]) is getattr(mt_core, expected), key


def test_can_cast() -> None:
    for key, expected in SNAPSHOT["can_cast"].items():
        a, b = key.split()
        assert can_cast(getattr(mt_core, a), getattr(mt_core, b)) is expected, key


def test_operators_promote_as_the_table_says() -> None:
    for key, expected in SNAPSHOT["tensors"].items():
        a, m, b, n = key.split()
        assert (operand(a, m) + operand(b, n)).dtype is getattr(mt_core, expected), key


dtypes = st.sampled_from(DTYPES).map(lambda name: getattr(mt_core, name))


@given(dtypes, dtypes)
def test_promotion_commutes_and_is_idempotent(a, b) -> None:
    common = promote_types(a, b)
    assert common is promote_types(b, a)
    assert promote_types(common, a) is common


@pytest.mark.parametrize("dtype", [mt_core.float64, mt_core.float32])
def test_python_floats_follow_the_default_dtype(dtype) -> None:
    before = mt_core.dtypes.get_default_dtype()
    mt_core.dtypes.set_default_dtype(dtype)
    try:
        assert (operand("int64", "1") * 1.5).dtype is dtype
    finally:
        mt_core.dtypes.set_default_dtype(before)
