"""Operators of elements that are not declared as elementwise: batching rules."""

from __future__ import annotations

from typing import Any

from ...api import _functions as ops
from ...dispatch.registry import find_overload
from ..batched import Lanes
from ._rules import Batch, batching_rule, one_lane, pointwise

batching_rule("frexp.Tensor", "ldexp.Tensor")(pointwise)


@batching_rule("dist")
def dist(batch: Batch, self: Lanes, other: Lanes, p: Any = 2) -> Any:
    batch.overload.call(one_lane(self), one_lane(other), p)
    rank = max(self.rank, other.rank)
    difference = ops.sub(self.at_rank(rank), other.at_rank(rank))
    return find_overload("linalg_vector_norm").call(difference.reshape(batch.size, -1), p, [1], False, None)
