"""`torch.utils.weak`: tensors as keys that are held weakly and told apart by identity."""

from __future__ import annotations

import copy
import gc

import pytest

import mindtorch as torch
from mindtorch.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakIdRef, WeakTensorKeyDictionary


def test_equal_tensors_are_different_keys() -> None:
    a, b = torch.ones(3), torch.ones(3)
    table = WeakTensorKeyDictionary({a: 1})
    table[b] = 2
    assert (table[a], table[b], len(table)) == (1, 2, 2)
    assert a in table and torch.ones(3) not in table and 3 not in table
    assert {id(key) for key in table} == {id(a), id(b)}
    del table[a]
    with pytest.raises(KeyError):
        table[a]
    assert table.pop(b) == 2 and not table


def test_what_goes_takes_its_value_along() -> None:
    kept, lost = torch.ones(1), torch.ones(1)
    value = torch.zeros(2)
    seen = TensorWeakRef(value)
    table = WeakIdKeyDictionary({kept: 1, lost: value})
    del lost, value
    gc.collect()
    assert len(table) == 1 and list(table.items()) == [(kept, 1)] and seen() is None
    (reference,) = table.keyrefs()
    assert reference() is kept


def test_iterating_survives_what_goes_meanwhile() -> None:
    tensors = [torch.ones(1) for _ in range(5)]
    table = WeakIdKeyDictionary(dict(zip(tensors, range(5), strict=True)))
    count = 0
    for _ in table:
        count += 1
        tensors.clear()
    assert count <= 2


def test_references_are_equal_for_one_object_while_it_lives() -> None:
    a, b = torch.ones(2), torch.ones(2)
    first, again, other = WeakIdRef(a), WeakIdRef(a), WeakIdRef(b)
    assert first == again and hash(first) == hash(again) and first != other and first() is a
    del a
    gc.collect()
    assert first() is None and first == first and first != again


def test_dictionaries_are_copied_joined_and_compared_by_identity() -> None:
    a, b = torch.ones(2), torch.ones(2)
    table = WeakIdKeyDictionary({a: [1]})
    shallow, deep = copy.copy(table), copy.deepcopy(table)
    assert shallow == table and shallow[a] is table[a]
    assert deep == table and deep[a] is not table[a]
    joined = table | {b: 2}
    assert joined[b] == 2 and b not in table and joined != table
    assert ({b: 3} | table)[b] == 3
    table |= {b: 4}
    assert table[b] == 4 and table.setdefault(b, 5) == 4


def test_a_reference_to_a_tensor() -> None:
    tensor = torch.ones(2)
    reference = TensorWeakRef(tensor)
    assert reference() is tensor
    del tensor
    gc.collect()
    assert reference() is None
    with pytest.raises(AssertionError):
        TensorWeakRef(3)  # type: ignore[arg-type]
