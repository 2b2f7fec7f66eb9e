"""`GradBucket`: what the communication hooks of `DistributedDataParallel` are given."""

from __future__ import annotations

from typing import Any

import mt_core as mt

__all__ = ["GradBucket"]


class GradBucket:
    """What a communication hook is given: the gradients of a bucket, which are this process's alone as yet."""

    def __init__(self, bucket: Any, buffer: mt.Tensor, index: int, is_last: bool) -> None:
        self._bucket, self._buffer, self._index, self._is_last = bucket, buffer, index, is_last

    def index(self) -> int:
        """The number of the bucket, in the order in which buckets are reduced."""
        return self._index

    def buffer(self) -> mt.Tensor:
        """The gradients, one after the other, in a tensor of one dimension."""
        return self._buffer

    def gradients(self) -> list[mt.Tensor]:
        """Each gradient: views of `buffer`."""
        return self._bucket.views_of(self._buffer)

    def parameters(self) -> list[mt.Tensor]:
        """The parameters whose gradients these are."""
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        """Whether no bucket comes after this one."""
        return self._is_last

    def set_buffer(self, buffer: mt.Tensor) -> None:
        """Put another tensor in the place of `buffer`."""
        self._buffer = buffer
