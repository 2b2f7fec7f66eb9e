"""Storages as data of new tensors."""

from __future__ import annotations

import pytest

import mt_core as mt
from mt_core.typed_storage import TypedStorage

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")


@pytest.mark.parametrize("d", [mt.float32, mt.float64, mt.int64, mt.bfloat16, mt.complex64, mt.bool])
def test_a_typed_storage_is_read_in_its_own_dtype_only(d: mt.dtype) -> None:
    source = mt.tensor([0, 1, 1]).to(d)
    storage = TypedStorage(wrap_storage=source.untyped_storage(), dtype=d)
    assert mt.equal(mt.tensor(storage, dtype=d), source)
    other = mt.int32
    with pytest.raises(RuntimeError, match="Expected a Storage of type Int or an UntypedStorage, but got"):
        mt.tensor(storage, dtype=other)


def test_what_is_made_of_a_storage_lies_on_it() -> None:
    source = mt.tensor([1.0, 2.0])
    made = mt.tensor(source.untyped_storage(), dtype=mt.float32)
    made[0] = 5.0
    assert source.tolist() == [5.0, 2.0]
