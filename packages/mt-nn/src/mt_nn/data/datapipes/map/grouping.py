"""Samples in batches."""

from __future__ import annotations

from typing import Any

from .._batching import Batching
from .._decorator import functional_datapipe
from ..datapipe import MapDataPipe

__all__ = ["BatcherMapDataPipe"]


@functional_datapipe("batch")
class BatcherMapDataPipe(Batching, MapDataPipe[Any]):
    """Chunks of so many samples; the last one may be smaller, and is left out with `drop_last`."""

    def __getitem__(self, index: Any) -> Any:
        places = range(index * self.batch_size, (index + 1) * self.batch_size)
        if places.stop <= len(self.datapipe):
            return self.wrapper_class([self.datapipe[place] for place in places])
        if places.start < len(self.datapipe) and not self.drop_last:
            return self.wrapper_class([self.datapipe[place] for place in range(places.start, len(self.datapipe))])
        raise IndexError(f"Index {index} is out of bound.")
