"""``torch._prims_common``: the dtypes of elementwise operators, as PyTorch finds them (make_elementwise.py)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import mindtorch as torch
from mindtorch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

_SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(_SNAPSHOTS))

from elementwise_cases import answers  # noqa: E402


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_dtypes_are_pytorchs():
    recorded = json.loads((_SNAPSHOTS / "elementwise.json").read_text())
    found = answers(torch, ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes)
    assert len(found) > 500 and {key: found[key] for key in found if found[key] != recorded[key]} == {}


def test_the_default_dtype_is_that_of_whole_numbers_made_floats():
    kind = ELEMENTWISE_TYPE_PROMOTION_KIND.INT_TO_FLOAT
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        assert elementwise_dtypes(torch.ones(2, dtype=torch.int32), type_promotion_kind=kind) == (torch.float64,) * 2
    finally:
        torch.set_default_dtype(before)


def test_what_is_neither_a_tensor_nor_a_number_is_refused():
    kind = ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT
    assert elementwise_dtypes(type_promotion_kind=kind) == (torch.bool, torch.bool)
    assert elementwise_dtypes(None, 1, type_promotion_kind=kind) == (torch.int64, torch.int64)
    with pytest.raises(ValueError, match="Unexpected type <class 'str'>"):
        elementwise_dtypes("x", type_promotion_kind=kind)
