"""Layers that normalize: what is not normalized over may be split; gradients of weights are sums over the rest."""

from __future__ import annotations

from ..placement_types import Placement, Shard
from ..strategies import Call, Strategy, rule
from ._common import SUM, R, everywhere


@rule("native_layer_norm")
def layer_norm(call: Call) -> list[Strategy]:
    leading = call.ndim() - len(call.args["normalized_shape"])
    rest: tuple[Placement, ...] = (R,) * (len(call.tensors) - 1)
    found = [Strategy((R,) * 3, (R, *rest))]
    return found + [Strategy((Shard(dim),) * 3, (Shard(dim), *rest)) for dim in range(leading)]


@rule("native_layer_norm_backward")
def layer_norm_backward(call: Call) -> list[Strategy]:
    leading = call.ndim() - len(call.args["normalized_shape"])
    rest: tuple[Placement, ...] = (R,) * (len(call.tensors) - 4)
    found = [Strategy((R,) * 3, (R,) * 4 + rest)]
    for dim in range(leading):
        shard = Shard(dim)
        found.append(Strategy((shard, SUM, SUM), (shard,) * 4 + rest))
    return found


@rule("_fused_rms_norm")
def rms_norm(call: Call) -> list[Strategy]:
    leading = call.ndim() - len(call.args["normalized_shape"])
    rest: tuple[Placement, ...] = (R,) * (len(call.tensors) - 1)
    found = [Strategy((R,) * 2, (R, *rest))]
    return found + [Strategy((Shard(dim),) * 2, (Shard(dim), *rest)) for dim in range(leading)]


@rule("_fused_rms_norm_backward")
def rms_norm_backward(call: Call) -> list[Strategy]:
    leading = call.ndim() - len(call.args["normalized_shape"])
    rest: tuple[Placement, ...] = (R,) * (len(call.tensors) - 3)
    found = [Strategy((R,) * 2, (R,) * 3 + rest)]
    for dim in range(leading):
        found.append(Strategy((Shard(dim), SUM), (Shard(dim),) * 3 + rest))
    return found


@rule("native_group_norm")
def group_norm(call: Call) -> list[Strategy]:
    found = [everywhere(call, 3)]
    if call.is_filled(0, 0):
        found.append(Strategy((Shard(0),) * 3, (Shard(0), *(R,) * (len(call.tensors) - 1))))
    return found


@rule("native_group_norm_backward")
def group_norm_backward(call: Call) -> list[Strategy]:
    found = [everywhere(call, 3)]
    if call.is_filled(0, 0):
        found.append(Strategy((Shard(0), SUM, SUM), (*(Shard(0),) * 4, *(R,) * (len(call.tensors) - 4))))
    return found


@rule("native_batch_norm")
def batch_norm(call: Call) -> list[Strategy]:
    """Channels may be split; the batch where statistics are given. What is written to is not brought elsewhere."""
    found = [everywhere(call, 3)]
    count = len(call.tensors)
    if call.is_filled(0, 1):
        found.append(Strategy((Shard(1), Shard(0), Shard(0)), (Shard(1), *(Shard(0),) * (count - 1))))
    if not call.args["training"] and call.is_filled(0, 0):
        found.append(Strategy((Shard(0), R, R), (Shard(0), *(R,) * (count - 1))))
    if not call.args["training"]:
        return found
    running = [call.args[name] for name in ("running_mean", "running_var") if call.args[name] is not None]
    at = [index for index, spec in enumerate(call.tensors) if any(spec is one for one in running)]
    return [one for one in found if all(one.inputs[i] == call.tensors[i].placements[call.at] for i in at)]
