"""Samplers: in which order the samples of a dataset are fetched, and which of them form a batch."""

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import mt_core as mt
from mt_core.interop import as_tensor

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """An order of a dataset's keys, or of lists of keys; subclasses define ``__iter__``, mostly ``__len__`` too."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """Every index once, in order."""

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices at random.

    Parameters
    ----------
    data_source
        The dataset.
    replacement
        Whether an index may come again before all others have come.
    num_samples
        How many to draw; by default as many as the dataset has. Without replacement, one permutation follows another.
    generator
        Draws them. By default each iteration has a generator of its own, whose seed the default generator gives.

    Raises
    ------
    TypeError
        Where ``replacement`` is no bool.
    ValueError
        Where there is nothing to draw.
    """

    #: Draws with replacement are made this many at once.
    _CHUNK = 32

    data_source: Sized
    replacement: bool

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: mt.Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        _check_positive("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices an iteration draws; follows a dataset that grows."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            generator = mt.Generator()
            generator.manual_seed(random_seed())
        draw = self._draw_with_replacement if self.replacement else self._draw_permutations
        yield from draw(len(self.data_source), generator)

    def _draw_with_replacement(self, size: int, generator: mt.Generator) -> Iterator[int]:
        whole, rest = divmod(self.num_samples, self._CHUNK)
        for count in [self._CHUNK] * whole + [rest]:
            yield from mt.randint(high=size, size=(count,), dtype=mt.int64, generator=generator).tolist()

    def _draw_permutations(self, size: int, generator: mt.Generator) -> Iterator[int]:
        whole, rest = divmod(self.num_samples, size)
        for count in [size] * whole + [rest]:
            yield from mt.randperm(size, generator=generator).tolist()[:count]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices, each once, at random.

    Parameters
    ----------
    indices
        To draw from.
    generator
        Draws the permutation; by default the default generator.
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: mt.Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for position in mt.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[position]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices at random, each with a probability in proportion to its weight.

    Parameters
    ----------
    weights
        One for each index; they need not sum to 1.
    num_samples
        How many to draw.
    replacement
        Whether an index may come again.
    generator
        Draws them; by default the default generator.

    Raises
    ------
    ValueError
        For weights that are no one-dimensional sequence, nothing to draw, or a ``replacement`` that is no bool.
    """

    weights: mt.Tensor
    num_samples: int
    replacement: bool

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: mt.Generator | None = None,
    ) -> None:
        _check_positive("num_samples", num_samples)
        _check_bool("replacement", replacement)
        tensor = as_tensor(weights, dtype=mt.double)
        if tensor.dim() != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(tensor.shape)}")
        self.weights = tensor
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = mt.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of what another sampler yields.

    Parameters
    ----------
    sampler
        Yields single keys.
    batch_size
        How many make a batch.
    drop_last
        Whether a last, shorter batch is left out.
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_positive("batch_size", batch_size)
        _check_bool("drop_last", drop_last)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        keys = iter(self.sampler)
        while batch := list(itertools.islice(keys, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        size = len(self.sampler)  # type: ignore[arg-type]
        return size // self.batch_size if self.drop_last else (size + self.batch_size - 1) // self.batch_size


def random_seed(generator: mt.Generator | None = None) -> int:
    """A seed drawn from a generator, by default the default one, as PyTorch draws it."""
    return int(mt.empty((), dtype=mt.int64).random_(generator=generator).item())


def _check_positive(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def _check_bool(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{name} should be a boolean value, but got {name}={value}")
