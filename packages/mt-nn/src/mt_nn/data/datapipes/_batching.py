"""What batches of both kinds of datapipes share: what they are asked for, and how many there are."""

from __future__ import annotations

from typing import Any

from .datapipe import DataChunk

__all__ = ["Batching"]


class Batching:
    """Chunks of `batch_size` samples; the last one may be smaller, and is left out with `drop_last`.

    Raises
    ------
    AssertionError
        When `batch_size` is not above 0.
    """

    def __init__(
        self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: type[Any] = DataChunk
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        super().__init__()
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __len__(self) -> int:
        count = len(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
