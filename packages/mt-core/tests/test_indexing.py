"""Basic and advanced indexing, to get and to set, against NumPy's where the two agree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mt_core

item = st.one_of(
    st.integers(-2, 1),
    st.builds(slice, st.none() | st.integers(-3, 3), st.none() | st.integers(-3, 3), st.none() | st.integers(1, 2)),
    st.just(None),
    st.just(...),
)
lists = st.lists(st.integers(-2, 1), min_size=1, max_size=3)


def allowed(index: list) -> bool:
    return sum(i is ... for i in index) <= 1 and sum(i is not None and i is not ... for i in index) <= 3


@given(st.lists(item, max_size=4).filter(allowed))
def test_basic_indexing(index: list) -> None:
    array = np.arange(24).reshape(2, 3, 4)
    assert mt_core.tensor(array.tolist())[tuple(index)].tolist() == array[tuple(index)].tolist()


@given(st.lists(item, max_size=4).filter(allowed), st.integers(-5, 5))
def test_assignment(index: list, value: int) -> None:
    array = np.arange(24).reshape(2, 3, 4)
    tensor = mt_core.tensor(array.tolist())
    array[tuple(index)] = value
    tensor[tuple(index)] = value
    assert tensor.tolist() == array.tolist() and tensor._version == 1


@given(lists, st.sampled_from([0, 1, 2]))
def test_lists_select(indices: list[int], dim: int) -> None:
    array = np.arange(24).reshape(2, 3, 4)
    index = (slice(None),) * dim + (indices,)
    assert mt_core.tensor(array.tolist())[index].tolist() == array[index].tolist()


def test_several_tensors_broadcast() -> None:
    array = np.arange(24).reshape(2, 3, 4)
    rows, columns = np.array([[0], [1]]), np.array([3, 0, 2])
    found = mt_core.tensor(array.tolist())[mt_core.tensor(rows.tolist()), :, mt_core.tensor(columns.tolist())]
    assert found.tolist() == array[rows, :, columns].tolist()


def test_masks() -> None:
    x = mt_core.tensor([1.0, -2.0, 3.0])
    assert x[x > 0].tolist() == [1, 3]
    x[x < 0] = 0
    assert x.tolist() == [1, 0, 3]


def test_repeated_indices_accumulate_only_when_asked() -> None:
    x, index = mt_core.zeros(3), mt_core.tensor([1, 1])
    assert x.index_put((index,), mt_core.ones(2), accumulate=True).tolist() == [0, 2, 0]


def test_advanced_indexing_copies() -> None:
    x = mt_core.zeros(3)
    x[[0, 1]].fill_(5)
    assert not x.any()


@pytest.mark.parametrize(
    ("index", "error", "words"),
    [
        (5, IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
        ((0, 0, 0), IndexError, "too many indices for tensor of dimension 2"),
        (slice(None, None, 0), ValueError, "slice step cannot be zero|step must be greater than zero"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        ("a", (IndexError, TypeError), "."),
        ([7], IndexError, "index 7 is out of bounds for dimension 0 with size 2"),
    ],
)
def test_refusals(index, error, words: str) -> None:
    with pytest.raises(error, match=words):
        mt_core.zeros(2, 3)[index]


def test_a_refused_assignment_changes_nothing() -> None:
    x = mt_core.zeros(2, 3)
    with pytest.raises(RuntimeError):
        x[0] = mt_core.ones(7)
    assert not x.any() and x._version == 0


@pytest.mark.parametrize(
    "dtypes", list(itertools.product((mt_core.bfloat16, mt_core.int64, mt_core.float32), repeat=2))
)
def test_tensors_of_two_dtypes_join_in_what_they_promote_to(dtypes: tuple) -> None:
    parts = [mt_core.ones(2, dtype=d) for d in dtypes]
    joined = mt_core.cat(parts)
    assert joined.dtype is mt_core.promote_types(*dtypes)
    assert joined.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("d", [mt_core.bfloat16, mt_core.float16, mt_core.complex64, mt_core.int64])
def test_adding_at_indices_counts_every_occurrence_in_every_dtype(d: mt_core.dtype) -> None:
    index, ones = mt_core.tensor([0, 0, 2]), mt_core.ones(3).to(d)
    expected = [2, 0, 1]
    assert mt_core.zeros(3).to(d).index_add(0, index, ones).to(mt_core.complex64).real.tolist() == expected
    assert mt_core.zeros(3).to(d).scatter_add_(0, index, ones).to(mt_core.complex64).real.tolist() == expected
    assert mt_core.zeros(3).to(d).index_add_(0, index, ones, alpha=2).to(mt_core.complex64).real.tolist() == [4, 0, 2]


@pytest.mark.parametrize("d", [mt_core.bfloat16, mt_core.float16])
@pytest.mark.parametrize("numbers", [1, 3, 50])
def test_rows_of_half_types_are_added_one_after_another_and_rounded_after_each(d: mt_core.dtype, numbers: int) -> None:
    generator = mt_core.Generator().manual_seed(numbers)
    index = mt_core.randint(numbers, (40,), generator=generator)
    rows = mt_core.randn(40, 4, generator=generator).to(d)
    expected = mt_core.randn(50, 4, generator=generator).to(d)
    made = expected.index_add(0, index, rows, alpha=3)
    for place, row in zip(index.tolist(), rows.unbind(), strict=True):
        expected[place] = (expected[place].float() + 3 * row.float()).to(d)
    assert made.equal(expected)


@pytest.mark.parametrize("name", ["index_add_", "index_copy_"])
def test_a_number_is_no_row_of_a_matrix(name: str) -> None:
    index, number = mt_core.tensor([1]), mt_core.tensor(1.0)
    with pytest.raises(RuntimeError, match="source tensor shape must match|must have same slice shapes"):
        getattr(mt_core.zeros(3, 2), name)(0, index, number)
    assert mt_core.zeros(3).index_copy_(0, index, number).tolist() == [0, 1, 0]
    with pytest.raises(RuntimeError, match=r"Got self.shape = \[3\] source.shape = \[\]"):
        mt_core.zeros(3).index_add_(0, index, number)


def test_a_tensor_is_scattered_over_itself_element_by_element() -> None:
    x, mask = mt_core.tensor([1.0, 2.0, 3.0]), mt_core.tensor([False, True, True])
    assert x.masked_scatter_(mask, x).tolist() == [1, 1, 1]
    number = mt_core.tensor(2.0)
    assert number.masked_scatter_(number > 0, number).item() == 2
