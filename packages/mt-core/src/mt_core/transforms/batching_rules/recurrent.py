"""Batching rules: what a step of a recurrent network is made of, and sequences."""

from __future__ import annotations

from typing import Any

from ..batched import Lanes
from ._rules import Batch, batching_rule, leading

leading("_lstm_gates", "_lstm_gates_backward")


@batching_rule("pad_sequence")
def pad_sequence(batch: Batch, sequences: list[Lanes], *options: Any) -> Any:
    """Lanes stand behind the steps of each sequence."""
    steps_first = [lanes.spread(batch.size).transpose(0, 1) for lanes in sequences]
    return batch.overload.call(steps_first, *options).movedim(2, 0)
