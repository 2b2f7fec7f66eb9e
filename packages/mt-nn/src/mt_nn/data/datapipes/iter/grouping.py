"""Samples in batches and groups, and out of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from .._batching import Batching
from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe
from ..utils import refuse_what_is_no_function

__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]


@functional_datapipe("batch")
class BatcherIterDataPipe(Batching, IterDataPipe[Any]):
    """Chunks of so many samples; the last one may be smaller, and is left out with `drop_last`."""

    def __iter__(self) -> Iterator[Any]:
        batch = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        if not hasattr(type(self.datapipe), "__len__"):
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return super().__len__()


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """The samples of batches of so many levels; -1: of all levels."""

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        self.datapipe = datapipe
        self.unbatch_level = unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for element in self.datapipe:
            yield from self._dive(element, self.unbatch_level)

    def _dive(self, element: Any, unbatch_level: int) -> Iterator[Any]:
        if unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        is_batch = isinstance(element, list | DataChunk)
        if unbatch_level == -1 and is_batch:
            for item in element:
                yield from self._dive(item, unbatch_level=-1)
        elif unbatch_level in (0, -1):
            yield element
        elif is_batch:
            for item in element:
                yield from self._dive(item, unbatch_level=unbatch_level - 1)
        else:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe[Any]):
    """Groups of the samples for which a function gives the same key.

    Parameters
    ----------
    keep_key
        Whether to yield ``(key, group)``.
    buffer_size
        So many samples wait; where there are as many, the largest group is yielded.
    group_size, guaranteed_group_size
        A group of the first is yielded at once; one below the second is an error, or dropped with `drop_remaining`.
    """

    def __init__(
        self,
        datapipe: Any,
        group_key_fn: Callable[[Any], Any],
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:
        refuse_what_is_no_function(group_key_fn)
        self.datapipe = datapipe
        self.group_key_fn = group_key_fn
        self.keep_key = keep_key
        self.max_buffer_size = buffer_size
        self.buffer_elements: defaultdict[Any, list[Any]] = defaultdict(list)
        self.curr_buffer_size = 0
        self.group_size = group_size
        self.guaranteed_group_size: int | None = None
        if group_size is not None and buffer_size is not None:
            if not 0 < group_size <= buffer_size:
                raise AssertionError("group_size must be > 0 and <= buffer_size")
            self.guaranteed_group_size = group_size
        if guaranteed_group_size is not None:
            if group_size is None or not 0 < guaranteed_group_size <= group_size:
                raise AssertionError("guaranteed_group_size must be > 0 and <= group_size and group_size must be set")
            self.guaranteed_group_size = guaranteed_group_size
        self.drop_remaining = drop_remaining
        self.wrapper_class = DataChunk

    def reset(self) -> None:
        """Forget what waits."""
        self.curr_buffer_size = 0
        self.buffer_elements = defaultdict(list)

    def _remove_biggest_key(self) -> Any:
        """Take the largest group out of the buffer, for the caller to yield; None where it is dropped."""
        key = max(self.buffer_elements, key=lambda each: len(self.buffer_elements[each]))
        largest = self.buffer_elements.pop(key)
        too_small = self.guaranteed_group_size is not None and len(largest) < self.guaranteed_group_size
        if too_small and not self.drop_remaining:
            raise RuntimeError("Failed to group items", str(largest))
        self.curr_buffer_size -= len(largest)
        return None if too_small else largest

    def _made(self, key: Any, group: list[Any]) -> Any:
        chunk = self.wrapper_class(group)
        return (key, chunk) if self.keep_key else chunk

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            self.buffer_elements[key].append(sample)
            self.curr_buffer_size += 1
            if self.group_size is not None and self.group_size == len(self.buffer_elements[key]):
                group = self.buffer_elements.pop(key)
                self.curr_buffer_size -= len(group)
                yield self._made(key, group)
            if self.curr_buffer_size == self.max_buffer_size:
                largest = self._remove_biggest_key()
                if largest is not None:
                    yield self._made(key, largest)  # PyTorch's key: that of the sample that came last
        for key in tuple(self.buffer_elements):
            group = self.buffer_elements.pop(key)
            self.curr_buffer_size -= len(group)
            yield self._made(key, group)

    def __getstate__(self) -> Any:
        return self._state({**vars(self), "buffer_elements": defaultdict(list), "curr_buffer_size": 0})
