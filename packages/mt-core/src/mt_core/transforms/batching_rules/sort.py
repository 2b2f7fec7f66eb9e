"""Sorting, order statistics and searching: batching rules."""

from __future__ import annotations

from typing import Any

from ..batched import Lanes
from ._rules import Batch, batching_rule, of_dynamic_shape, one_lane, over_all, over_dims

over_dims("kthvalue", "mode", "median.dim", "nanmedian.dim", "topk", "sort.stable")
over_all("median", "median.dim", 1, False)
over_all("nanmedian", "nanmedian.dim", 1, False)
of_dynamic_shape("_unique2", "unique_consecutive", "unique_dim")


@batching_rule("searchsorted.Tensor")
def searchsorted(
    batch: Batch, sorted_sequence: Lanes, self: Lanes, out_int32: bool, right: bool, side: Any, sorter: Lanes | None
) -> Any:
    """A sequence of one dimension is searched for all elements of a lane: they are made one row."""
    options = [out_int32, right, side]
    if sorted_sequence.dim is None and (sorter is None or sorter.dim is None) and sorted_sequence.rank == 1:
        shared = None if sorter is None else sorter.value
        return batch.overload.call(sorted_sequence.value, self.front(), *options, shared)
    order = None if sorter is None else sorter.spread(batch.size)
    sequence, looked_for = sorted_sequence.spread(batch.size), self.spread(batch.size)
    if sorted_sequence.rank != 1:
        if sorted_sequence.rank != self.rank or not self.rank:
            lane = None if sorter is None else one_lane(sorter)
            batch.overload.call(one_lane(sorted_sequence), one_lane(self), *options, lane)
        return batch.overload.call(sequence, looked_for, *options, order)
    found = batch.overload.call(sequence, looked_for.reshape(batch.size, -1), *options, order)
    return found.reshape(batch.size, *self.shape)
