"""Losses: rows may be split; what is left to be done is the sum, or the mean of parts of one size."""

from __future__ import annotations

from ..placement_types import Partial, Placement, Shard
from ..strategies import Call, Strategy, rule
from ._common import SUM, R, everywhere
from .elementwise import split

_NONE, _MEAN, _SUM = 0, 1, 2


@rule("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
      "soft_margin_loss", "kl_div")  # fmt: skip
def elementwise_loss(call: Call) -> list[Strategy]:
    found = split(call)
    reduction = call.args.get("reduction", _MEAN)
    if reduction == _NONE:
        return found
    if any(call.shape(index) != call.shape() for index in range(1, len(call.tensors))):
        return [everywhere(call)]
    left: Placement = SUM if reduction == _SUM else Partial("avg")
    return [found[0]] + [
        Strategy((left,), one.inputs)
        for one in found[1:]
        if reduction == _SUM or call.is_even(0, one.outputs[0].dim)  # type: ignore[attr-defined]
    ]


@rule("nll_loss_forward")
def nll_loss(call: Call) -> list[Strategy]:
    found = [everywhere(call, 2)]
    weight: tuple[Placement, ...] = (R,) * (len(call.tensors) - 2)
    reduction = call.args.get("reduction", _MEAN)
    if call.ndim() != 2 or reduction == _MEAN:
        return found
    result: Placement = Shard(0) if reduction == _NONE else SUM
    return [*found, Strategy((result, R if reduction == _NONE else SUM), (Shard(0), Shard(0), *weight))]


@rule("nll_loss_backward")
def nll_loss_backward(call: Call) -> list[Strategy]:
    found = [everywhere(call)]
    if call.ndim(1) != 2:
        return found
    weight: tuple[Placement, ...] = (R,) * (len(call.tensors) - 4)
    grad: Placement = Shard(0) if call.args.get("reduction") == _NONE else R
    return [*found, Strategy((Shard(0),), (grad, Shard(0), Shard(0), *weight, R))]
