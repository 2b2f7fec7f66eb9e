"""Batching rules: attention. What stands before the last two dimensions is a batch, heads among it."""

from __future__ import annotations

from typing import Any

from ..batched import Lanes
from ._lanes import refuse_as_lane
from ._rules import Batch, batching_rule


@batching_rule("_plain_attention")
def plain_attention(batch: Batch, query: Lanes, key: Lanes, value: Lanes, is_causal: bool, scale: float | None) -> Any:
    rank = max(query.rank, key.rank, value.rank)
    if min(query.rank, key.rank, value.rank) < 2:
        refuse_as_lane(batch, (query, key, value, is_causal, scale))
    return batch.overload.call(*(lanes.at_rank(rank) for lanes in (query, key, value)), is_causal, scale)
