"""Datasets, samplers and collation; random orders are PyTorch's (snapshots/make_data_streams.py)."""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, namedtuple
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mt_core as mt
from mt_core.random import Generator, manual_seed
from mt_nn import data
from mt_nn.data._utils.collate import collate

STREAMS = json.loads((Path(__file__).parent / "snapshots" / "data_streams.json").read_text())
Point = namedtuple("Point", "x y")


class Stream(data.IterableDataset):
    def __init__(self, count=7):
        self.count = count

    def __iter__(self):
        return iter(range(self.count))


class StreamWithLength(Stream):
    def __len__(self):
        return 5


def seeded(seed):
    generator = Generator()
    generator.manual_seed(seed)
    return generator


def tensors(count=10):
    return data.TensorDataset(mt.arange(count), mt.arange(count) * 2)


# Random orders

DRAWS = {
    "random": lambda: list(data.RandomSampler(range(10))),
    "random, generator": lambda: list(data.RandomSampler(range(10), generator=seeded(1))),
    "random, more than there are": lambda: list(data.RandomSampler(range(3), num_samples=8)),
    "random, replacement": lambda: list(data.RandomSampler(range(5), replacement=True, num_samples=40)),
    "random, large": lambda: list(data.RandomSampler(range(3000)))[:20],
    "subset": lambda: list(data.SubsetRandomSampler([5, 6, 7, 8])),
    "weighted": lambda: list(data.WeightedRandomSampler([0.1, 0.5, 0.4], 10)),
    "weighted, no replacement": lambda: list(data.WeightedRandomSampler([0.1, 0.5, 0.4, 0.2], 3, replacement=False)),
    "distributed": lambda: [list(data.DistributedSampler(range(11), 3, rank, seed=2)) for rank in range(3)],
    "distributed, drop": lambda: [list(data.DistributedSampler(range(11), 3, r, drop_last=True)) for r in range(3)],
    "split": lambda: [list(part.indices) for part in data.random_split(range(10), [3, 7])],
    "split, fractions": lambda: [list(part.indices) for part in data.random_split(range(10), [0.33, 0.33, 0.34])],
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_in_the_order_of_pytorch(name):
    drawn, next_number = STREAMS[name]
    manual_seed(5)
    assert DRAWS[name]() == drawn
    assert mt.rand(()).item() == next_number


@given(st.integers(1, 40), st.integers(1, 100), st.integers(0, 5))
def test_permutations_follow_each_other(size, count, seed):
    drawn = list(data.RandomSampler(range(size), num_samples=count, generator=seeded(seed)))
    assert len(drawn) == count
    for start in range(0, count - size + 1, size):
        assert sorted(drawn[start : start + size]) == list(range(size))
    assert len(set(drawn[-(count % size) :])) == count % size or count % size == 0


@given(st.integers(1, 30), st.integers(1, 5), st.booleans(), st.booleans())
def test_the_parts_of_a_distributed_sampler_have_one_length_and_cover_the_whole(size, replicas, drop, shuffle):
    if drop and size < replicas:
        return
    parts = [
        list(data.DistributedSampler(range(size), replicas, rank, shuffle=shuffle, drop_last=drop))
        for rank in range(replicas)
    ]
    assert len({len(part) for part in parts}) == 1
    together = [index for part in parts for index in part]
    assert len(set(together)) == (len(together) if drop else size)


def test_an_epoch_has_an_order_of_its_own():
    sampler = data.DistributedSampler(range(100), 2, 0)
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) != first


def test_a_random_sampler_follows_a_dataset_that_grows():
    source = [0, 1]
    sampler = data.RandomSampler(source)
    source.append(2)
    assert len(sampler) == 3
    assert sorted(sampler) == [0, 1, 2]


@given(st.integers(0, 20), st.integers(1, 6), st.booleans())
def test_batches_hold_all_keys_in_order(size, batch_size, drop_last):
    sampler = data.BatchSampler(data.SequentialSampler(range(size)), batch_size, drop_last)
    batches = list(sampler)
    assert len(batches) == len(sampler)
    assert all(len(batch) == batch_size for batch in batches[:-1])
    kept = size - size % batch_size if drop_last else size
    assert [key for batch in batches for key in batch] == list(range(kept))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: data.RandomSampler([]),
            ValueError,
            "num_samples should be a positive integer value, but got num_samples=0",
        ),
        (lambda: data.RandomSampler([1], replacement=1), TypeError, "replacement should be a boolean value"),
        (lambda: data.WeightedRandomSampler([0.1], 0), ValueError, "num_samples should be a positive integer value"),
        (lambda: data.WeightedRandomSampler([[0.1]], 1), ValueError, r"given weights have shape \(1, 1\)"),
        (lambda: data.BatchSampler([1], True, False), ValueError, "but got batch_size=True"),
        (lambda: data.BatchSampler([1], 1, 1), ValueError, "drop_last should be a boolean value, but got drop_last=1"),
        (lambda: data.DistributedSampler([1]), ValueError, "Default process group has not been initialized"),
        (
            lambda: data.DistributedSampler([1], 2, 3),
            ValueError,
            r"Invalid rank 3, rank should be in the interval \[0, 1\]",
        ),
        (lambda: next(iter(data.Sampler())), NotImplementedError, None),
    ],
)
def test_samplers_refuse_bad_options(make, error, message):
    with pytest.raises(error, match=message):
        make()


# Datasets


def test_tensor_dataset():
    assert tensors()[3] == (3, 6)
    assert [part.tolist() for part in tensors()[1:3]] == [[1, 2], [2, 4]]
    assert len(tensors()) == 10
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(mt.ones(2), mt.ones(3))


def test_stack_dataset():
    one, other = [1, 2, 3], tensors(3)
    assert data.StackDataset(one, one)[1] == (2, 2)
    assert data.StackDataset(a=one, b=one)[1] == {"a": 2, "b": 2}
    assert data.StackDataset(a=one, b=other).__getitems__([0, 2]) == [
        {"a": 1, "b": other[0]},
        {"a": 3, "b": other[2]},
    ]
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        data.StackDataset(one, [1])
    with pytest.raises(ValueError, match="At least one dataset should be passed"):
        data.StackDataset()
    with pytest.raises(ValueError, match="but both types are given"):
        data.StackDataset(one, a=one)


def test_concatenation():
    joined = tensors(3) + tensors(2)
    assert isinstance(joined, data.ConcatDataset)
    assert [int(joined[i][0]) for i in range(-5, 5)] == [0, 1, 2, 0, 1] * 2
    with pytest.raises(ValueError, match="absolute value of index should not exceed dataset length"):
        joined[-6]
    with pytest.raises(AssertionError, match="datasets should not be an empty iterable"):
        data.ConcatDataset([])
    with pytest.raises(AssertionError, match="ConcatDataset does not support IterableDataset"):
        data.ConcatDataset([Stream()])


def test_chained_streams():
    chain = StreamWithLength(2) + StreamWithLength(3)
    assert list(chain) == [0, 1, 0, 1, 2]
    assert len(chain) == 10
    with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset"):
        list(data.ChainDataset([tensors()]))


def test_subset():
    subset = data.Subset(tensors(), [7, 3])
    assert len(subset) == 2
    assert subset[1] == (3, 6)
    assert subset.__getitems__([1, 0]) == [(3, 6), (7, 14)]


@given(st.integers(0, 30), st.lists(st.floats(0.01, 1), min_size=1, max_size=5))
@pytest.mark.filterwarnings("ignore:Length of split")
def test_a_split_shares_nothing_and_leaves_nothing(size, weights):
    fractions = [weight / sum(weights) for weight in weights]
    if sum(fractions) > 1:
        return
    parts = data.random_split(range(size), fractions, seeded(0))
    assert sorted(index for part in parts for index in part.indices) == list(range(size))


def test_a_split_that_does_not_add_up():
    with pytest.raises(ValueError, match="Sum of input lengths does not equal the length of the input dataset!"):
        data.random_split(range(10), [3, 3])
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        data.random_split(range(10), [1.5, -0.5])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        data.random_split(range(2), [0.1, 0.1, 0.8])


def test_the_base_classes_have_nothing_to_give():
    with pytest.raises(NotImplementedError, match="Subclasses of Dataset should implement __getitem__."):
        data.Dataset()[0]
    with pytest.raises(TypeError, match="abstract"):
        data.IterableDataset()


# Collation


def same(one, other):
    assert type(one) is type(other)
    if isinstance(one, mt.Tensor):
        assert one.dtype == other.dtype
        assert mt.equal(one, other)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other):
            same(a, b)
    else:
        assert one == other


@pytest.mark.parametrize(
    ("samples", "batch"),
    [
        ([1, 2], mt.tensor([1, 2])),
        ([1.0, 2.0], mt.tensor([1.0, 2.0], dtype=mt.float64)),
        ([True, False], mt.tensor([True, False])),
        (["a", "b"], ["a", "b"]),
        ([mt.ones(2), mt.zeros(2)], mt.tensor([[1.0, 1.0], [0.0, 0.0]])),
        ([np.float32(1), np.float32(2)], mt.tensor([1.0, 2.0])),
        ([np.ones(2), np.zeros(2)], mt.tensor([[1.0, 1.0], [0.0, 0.0]], dtype=mt.float64)),
        ([(1, "a"), (2, "b")], [mt.tensor([1, 2]), ("a", "b")]),
        ([[1, 2], [3, 4]], [mt.tensor([1, 3]), mt.tensor([2, 4])]),
        ([{"a": 1, "b": [2]}, {"a": 3, "b": [4]}], {"a": mt.tensor([1, 3]), "b": [mt.tensor([2, 4])]}),
        ([Point(1, 2), Point(3, 4)], Point(mt.tensor([1, 3]), mt.tensor([2, 4]))),
        ([OrderedDict(a=1), OrderedDict(a=2)], OrderedDict(a=mt.tensor([1, 2]))),
        ([defaultdict(list, a=1), defaultdict(list, a=2)], defaultdict(list, a=mt.tensor([1, 2]))),
        ([range(2), range(2)], [mt.tensor([0, 0]), mt.tensor([1, 1])]),
    ],
)
def test_default_collate(samples, batch):
    same(data.default_collate(samples), batch)


@pytest.mark.parametrize(
    ("samples", "error", "message"),
    [
        ([None], TypeError, "found <class 'NoneType'>"),
        ([np.array(["a"])], TypeError, "found <U1"),
        ([[1, 2], [1]], RuntimeError, "each element in list of batch should be of equal size"),
        ([mt.ones(2), mt.ones(3)], RuntimeError, "stack expects each tensor to be equal size"),
        ([{"a": 1}, {"b": 1}], KeyError, "a"),
    ],
)
def test_what_cannot_be_collated(samples, error, message):
    with pytest.raises(error, match=message):
        data.default_collate(samples)


def test_further_types_can_be_collated():
    assert collate([1, 2], collate_fn_map={int: lambda batch, collate_fn_map=None: sum(batch)}) == 3


def test_default_convert():
    array = np.ones(2)
    found = data.default_convert([array, 1, "a", {"b": np.float32(3)}, Point(array, 2), (1, 2), np.array("x")])
    tensor, number, text, mapping, point, pair, words = found
    array[0] = 5
    assert tensor.tolist() == [5.0, 1.0], "shares memory"
    assert (number, text, pair) == (1, "a", [1, 2])
    assert mapping["b"].item() == 3.0
    assert isinstance(point, Point)
    assert isinstance(words, np.ndarray)
