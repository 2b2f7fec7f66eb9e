"""Convolutions: the batch may be split, and channels, those of the input with a sum to be done."""

from __future__ import annotations

from ..placement_types import Placement, Shard
from ..strategies import Call, Strategy, rule
from ._common import SUM, R, everywhere


def _is_plain(call: Call) -> bool:
    return not call.args["transposed"] and call.args["groups"] == 1


@rule("convolution")
def convolution(call: Call) -> list[Strategy]:
    found = [everywhere(call)]
    bias: tuple[Placement, ...] = (R,) * (len(call.tensors) - 2)
    if call.is_filled(0, 0):
        found.append(Strategy((Shard(0),), (Shard(0), R, *bias)))
    if _is_plain(call) and call.is_filled(1, 0):
        found.append(Strategy((Shard(1),), (R, Shard(0), *(Shard(0) for _ in bias))))
    if _is_plain(call) and not bias and call.is_filled(1, 1):
        found.append(Strategy((SUM,), (Shard(1), Shard(1))))
    return found


@rule("convolution_backward")
def convolution_backward(call: Call) -> list[Strategy]:
    found = [everywhere(call, 3)]
    if call.is_filled(0, 0):
        found.append(Strategy((Shard(0), SUM, SUM), (Shard(0), Shard(0), R)))
    if _is_plain(call) and not call.args["output_mask"][2] and call.is_filled(2, 0):
        found.append(Strategy((SUM, Shard(0), R), (Shard(1), R, Shard(0))))
    if _is_plain(call) and call.is_filled(2, 1):
        found.append(Strategy((Shard(1), Shard(1), R), (R, Shard(1), Shard(1))))
    return found
