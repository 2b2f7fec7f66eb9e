"""Samples in another order: a map becomes a stream."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import mt_core as mt

from ..datapipe import IterDataPipe, MapDataPipe

__all__ = ["ShufflerIterDataPipe"]


class ShufflerIterDataPipe(IterDataPipe[Any]):
    """The samples of a map at its indices, in an order by Python's generator started from a seed.

    Parameters
    ----------
    indices
        Of the samples; without, those from 0 to the length.
    """

    def __init__(self, datapipe: Any, *, indices: list[Any] | None = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._enabled = True
        self._seed: int | None = None
        self._rng = random.Random()
        self._shuffled_indices: list[Any] = self.indices

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Whether to shuffle."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """What the next iterator's order comes from; without it, a number drawn from the default generator."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            for index in self.indices:
                yield self.datapipe[index]
            return
        while self._shuffled_indices:
            yield self.datapipe[self._shuffled_indices.pop()]

    def reset(self) -> None:
        """Draw a new order."""
        if self._enabled and self._seed is None:
            self._seed = int(mt.empty((), dtype=mt.int64).random_().item())
        if self._enabled:
            self._rng.seed(self._seed)
            self._seed = None
            self._shuffled_indices = self._rng.sample(self.indices, len(self.indices))

    def __len__(self) -> int:
        return len(self.datapipe)

    def __getstate__(self) -> Any:
        state = (
            self.datapipe, self.indices, self._enabled, self._seed, self._rng.getstate(), self._shuffled_indices,
            self._valid_iterator_id, self._number_of_samples_yielded,
        )  # fmt: skip
        return self._state(state)

    def __setstate__(self, state: Any) -> None:
        (
            self.datapipe, self.indices, self._enabled, self._seed, generator, self._shuffled_indices,
            self._valid_iterator_id, self._number_of_samples_yielded,
        ) = state  # fmt: skip
        self._rng = random.Random()
        self._rng.setstate(generator)


#: Maps have it as a method, though it makes a stream.
MapDataPipe.register_function("shuffle", ShufflerIterDataPipe)
