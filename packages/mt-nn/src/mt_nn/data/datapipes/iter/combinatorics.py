"""Samples in another order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import mt_core as mt

from ...sampler import Sampler, SequentialSampler
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe

__all__ = ["SamplerIterDataPipe", "Shuffler", "ShufflerIterDataPipe"]


class SamplerIterDataPipe(IterDataPipe[Any]):
    """What a sampler of a stream yields."""

    def __init__(
        self,
        datapipe: Any,
        sampler: type[Sampler[Any]] = SequentialSampler,
        sampler_args: tuple[Any, ...] | None = None,
        sampler_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if not hasattr(type(datapipe), "__len__"):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        super().__init__()
        self.datapipe = datapipe
        self.sampler_args = () if sampler_args is None else sampler_args
        self.sampler_kwargs = {} if sampler_kwargs is None else sampler_kwargs
        self.sampler = sampler(*self.sampler_args, data_source=self.datapipe, **self.sampler_kwargs)  # type: ignore[call-arg, misc]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return len(self.sampler)  # type: ignore[arg-type]


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(IterDataPipe[Any]):
    """Samples out of a buffer, each drawn at random, by Python's generator started from a seed.

    Parameters
    ----------
    buffer_size
        So many samples wait.
    unbatch_level
        Batches of so many levels are taken apart first; the buffer is in batches then.
    """

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        super().__init__()
        self._buffer: list[Any] = []
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level=unbatch_level)
        self.buffer_size = buffer_size
        self._enabled = True
        self._seed: int | None = None
        self._rng = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Whether to shuffle."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """What the next iterator's order comes from; without it, a number drawn from the default generator."""
        self._seed = seed
        return self

    def reset(self) -> None:
        """Empty the buffer, and start the generator."""
        self._buffer = []
        if self._enabled:
            if self._seed is None:
                self._seed = int(mt.empty((), dtype=mt.int64).random_().item())
            self._rng.seed(self._seed)
            self._seed = None

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        for sample in self.datapipe:
            if len(self._buffer) < self.buffer_size:
                self._buffer.append(sample)
                continue
            place = self._rng.randint(0, len(self._buffer) - 1)
            drawn, self._buffer[place] = self._buffer[place], sample
            yield drawn
        while self._buffer:
            yield self._buffer.pop(self._rng.randint(0, len(self._buffer) - 1))

    def __len__(self) -> int:
        return len(self.datapipe)

    def __getstate__(self) -> Any:
        state = (
            self.datapipe, self.buffer_size, self._enabled, self._seed, self._buffer, self._rng.getstate(),
            self._valid_iterator_id, self._number_of_samples_yielded,
        )  # fmt: skip
        return self._state(state)

    def __setstate__(self, state: Any) -> None:
        (
            self.datapipe, self.buffer_size, self._enabled, self._seed, self._buffer, generator,
            self._valid_iterator_id, self._number_of_samples_yielded,
        ) = state  # fmt: skip
        self._rng = random.Random()
        self._rng.setstate(generator)


Shuffler = ShufflerIterDataPipe
