"""New tensors in the likeness of others: which elements these have, and where, does not matter."""

from __future__ import annotations

from ..placement_types import Shard
from ..strategies import Call, Strategy, rule
from ._common import R


@rule("new_zeros", "new_ones", "new_full", "new_empty", "new_empty_strided")
def new(call: Call) -> list[Strategy]:
    now = call.tensors[0].placements[call.at]
    # Any parts of zeros, or of what is to be written yet, add up to such.
    kept = isinstance(now, Shard) or call.name.startswith(("new_empty", "new_zeros"))
    follows = kept and tuple(call.args["size"]) == call.shape()
    return [Strategy((now if follows else R,), (None,))]
