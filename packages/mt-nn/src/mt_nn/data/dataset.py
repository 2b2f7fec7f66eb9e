"""Datasets: where samples come from."""

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import mt_core as mt

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """A map from keys to samples.

    Subclasses define ``__getitem__``; mostly ``__len__`` too, which samplers ask for; and ``__getitems__``, which
    takes a list of keys, where a batch is fetched faster as a whole.
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: "Dataset[T_co]") -> "ConcatDataset[T_co]":
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """A stream of samples; subclasses define ``__iter__``.

    Every worker of a loader iterates a copy of its own: without a look at `get_worker_info` each yields all samples.
    """

    def __add__(self, other: "Dataset[T_co]") -> "ChainDataset":  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[mt.Tensor, ...]]):
    """Samples are tuples of the tensors' rows, views along the first dimension.

    Raises
    ------
    AssertionError
        Where the tensors differ in the size of their first dimension.
    """

    tensors: tuple[mt.Tensor, ...]

    def __init__(self, *tensors: mt.Tensor) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[mt.Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[Any]):
    """Samples are tuples, or dicts, of the samples that several datasets have at one index.

    Parameters
    ----------
    args, kwargs
        The datasets: positional ones give tuples, named ones dicts.

    Raises
    ------
    ValueError
        Where both kinds or none are given, or lengths differ.
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: "Dataset[T_co]", **kwargs: "Dataset[T_co]") -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or"
                "``dict``- (via ``kwargs``) like input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        parts = list(args or kwargs.values())
        self._length = len(parts[0])  # type: ignore[arg-type]
        if any(self._length != len(part) for part in parts):  # type: ignore[arg-type]
            raise ValueError("Size mismatch between datasets")
        self.datasets = args or kwargs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        """The samples at several indices, fetched from each dataset as a whole where it can."""
        if isinstance(self.datasets, dict):
            columns = [_fetch_all(dataset, indices) for dataset in self.datasets.values()]
            return [dict(zip(self.datasets, row, strict=True)) for row in zip(*columns, strict=True)]
        return list(zip(*(_fetch_all(dataset, indices) for dataset in self.datasets), strict=True))

    def __len__(self) -> int:
        return self._length


def _fetch_all(dataset: Any, indices: list[Any]) -> list[Any]:
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[index] for index in indices]
    items = dataset.__getitems__(indices)
    if len(items) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}")
    return items


class ConcatDataset(Dataset[T_co]):
    """The samples of several datasets one after another.

    Raises
    ------
    AssertionError
        For no dataset, or one that can only be iterated.
    """

    datasets: "list[Dataset[T_co]]"
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The running total of lengths."""
        return list(itertools.accumulate(len(part) for part in sequence))

    def __init__(self, datasets: "Iterable[Dataset[T_co]]") -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T_co:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]

    @property
    def cummulative_sizes(self) -> list[int]:
        """The name `cumulative_sizes` once had."""
        warnings.warn("cummulative_sizes attribute is renamed to cumulative_sizes", DeprecationWarning, stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """The streams of several iterable datasets one after another, each begun when the one before ends."""

    def __init__(self, datasets: "Iterable[Dataset[Any]]") -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            yield from self._checked(dataset)

    def __len__(self) -> int:
        return sum(len(self._checked(dataset)) for dataset in self.datasets)  # type: ignore[arg-type, misc]

    @staticmethod
    def _checked(dataset: "Dataset[Any]") -> IterableDataset[Any]:
        if not isinstance(dataset, IterableDataset):
            raise AssertionError("ChainDataset only supports IterableDataset")
        return dataset


class Subset(Dataset[T_co]):
    """The samples of a dataset at some indices.

    Parameters
    ----------
    dataset
        The whole.
    indices
        Of the samples in it, in order.
    """

    dataset: "Dataset[T_co]"
    indices: Sequence[int]

    def __init__(self, dataset: "Dataset[T_co]", indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        """The samples at several indices, fetched from the dataset as a whole where it can."""
        keys = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(keys)  # type: ignore[attr-defined]
        return [self.dataset[key] for key in keys]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: "Dataset[T]", lengths: Sequence[int | float], generator: mt.Generator | None = None
) -> list[Subset[T]]:
    """Split a dataset at random into parts that share no sample.

    Parameters
    ----------
    dataset
        The whole.
    lengths
        Of the parts; or their fractions, which sum to 1: what rounding leaves goes to the first parts, one sample each.
    generator
        Draws the permutation; by default the default generator.

    Raises
    ------
    ValueError
        Where the lengths do not add up, or a fraction is not between 0 and 1.
    """
    total = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of_fractions(lengths, total)
    if sum(lengths) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = mt.randperm(total, generator=generator).tolist()
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[end - length : end]) for end, length in zip(ends, lengths)]  # type: ignore[misc]


def _lengths_of_fractions(fractions: Sequence[float], total: int) -> list[int]:
    for index, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {index} is not between 0 and 1")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for index, length in enumerate(lengths):
        if length == 0:
            warnings.warn(
                f"Length of split at index {index} is 0. This might result in an empty dataset.", stacklevel=3
            )
    return lengths
