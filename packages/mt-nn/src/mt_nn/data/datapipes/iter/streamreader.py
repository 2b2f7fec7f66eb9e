"""What is in files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe

__all__ = ["StreamReaderIterDataPipe"]


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe[tuple[str, bytes]]):
    """Tuples of a path and the whole content of its open file, or of pieces of so many bytes."""

    def __init__(self, datapipe: Any, chunk: int | None = None) -> None:
        self.datapipe = datapipe
        self.chunk = chunk

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        for name, stream in self.datapipe:
            piece = stream.read(self.chunk) if self.chunk is not None else stream.read()
            while piece:
                yield name, piece
                piece = stream.read(self.chunk) if self.chunk is not None else stream.read()
            stream.close()
