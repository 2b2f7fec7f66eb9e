"""Several streams as one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe

__all__ = ["ConcaterIterDataPipe", "MultiplexerIterDataPipe", "ZipperIterDataPipe"]


def _refuse_others(pipes: tuple[Any, ...]) -> None:
    if not all(isinstance(pipe, IterDataPipe) for pipe in pipes):
        raise TypeError("Expected all inputs to be `IterDataPipe`")


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe[Any]):
    """The samples of several streams, one after the other.

    Raises
    ------
    ValueError
        Without a stream.
    TypeError
        For what is no stream.
    """

    def __init__(self, *datapipes: IterDataPipe[Any]) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        _refuse_others(datapipes)
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        if all(hasattr(type(pipe), "__len__") for pipe in self.datapipes):
            return sum(map(len, self.datapipes))  # type: ignore[arg-type]
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe[Any]):
    """One sample of each stream in turn, until one has no more; rounds are whole."""

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes
        self.buffer: list[Any] = []

    def reset(self) -> None:
        """Forget the round that was begun."""
        self.buffer = []

    def __iter__(self) -> Iterator[Any]:
        for samples in zip(*self.datapipes, strict=False):
            yield from samples

    def __len__(self) -> int:
        return min(map(len, self.datapipes)) * len(self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe[Any]):
    """Tuples of one sample of each stream, until one has no more.

    Raises
    ------
    TypeError
        For what is no stream.
    """

    def __init__(self, *datapipes: IterDataPipe[Any]) -> None:
        _refuse_others(datapipes)
        super().__init__()
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        if all(hasattr(type(pipe), "__len__") for pipe in self.datapipes):
            return min(map(len, self.datapipes))  # type: ignore[arg-type]
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
