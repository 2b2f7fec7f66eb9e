"""Batching rules: the loss of class indices. Lanes are more samples; each is reduced by itself afterwards."""

from __future__ import annotations

from typing import Any

from ...dtypes import int64
from ..batched import Lanes
from ._lanes import refuse_as_lane
from ._rules import LOOPED, Batch, batching_rule

_NONE, _MEAN, _SUM = range(3)

#: Lengths and labels are read on the host.
LOOPED.update({"ctc_loss.IntList", "ctc_loss.Tensor"})


def _as_samples(batch: Batch, self: Lanes, target: Lanes) -> tuple[Any, Any]:
    """self (N, C) or (C,), target (N,) or () -> (B N, C), (B N,)."""
    value, labels = self.spread(batch.size), target.spread(batch.size)
    return value.reshape((labels.numel(), value.shape[-1])), labels.reshape(-1)


def _fits(self: Lanes, target: Lanes) -> bool:
    return self.rank in (1, 2) and target.shape == self.shape[:-1]


def _weights_of_rows(batch: Batch, weight: Lanes | None, labels: Any, ignore_index: int, like: Any) -> Any:
    """labels (B, *) -> what each row counts (B, *), nothing where it is ignored."""
    counted = labels != ignore_index
    if weight is None:
        return counted.to(like._dtype)
    places = labels.to(int64).masked_fill(~counted, 0).reshape((batch.size, labels.numel() // max(batch.size, 1)))
    picked = weight.spread(batch.size).gather(1, places).reshape(labels.shape)
    return picked.masked_fill(~counted, 0)


@batching_rule("nll_loss_forward")
def nll_loss_forward(
    batch: Batch, self: Lanes, target: Lanes, weight: Lanes | None, reduction: int, ignore_index: int
) -> Any:
    if not _fits(self, target) or weight is not None and weight.shape != self.shape[-1:]:
        refuse_as_lane(batch, (self, target, weight, reduction, ignore_index))
    rows, labels = _as_samples(batch, self, target)
    losses, none = batch.overload.call(rows, labels, None, _NONE, ignore_index)
    losses = losses.reshape((batch.size, *target.shape))
    weights = _weights_of_rows(batch, weight, target.spread(batch.size), ignore_index, rows)
    if weight is not None:
        losses = losses * weights
    if reduction == _NONE:
        return losses, none.expand((batch.size,))
    dims = tuple(range(1, losses.dim()))
    loss, total = (losses.sum(dims), weights.sum(dims)) if dims else (losses, weights)
    return (loss / total if reduction == _MEAN else loss), total


@batching_rule("nll_loss_backward")
def nll_loss_backward(
    batch: Batch, grad_output: Lanes, self: Lanes, target: Lanes, weight: Lanes | None, reduction: int,
    ignore_index: int, total_weight: Lanes,
) -> Any:  # fmt: skip
    if not _fits(self, target):
        refuse_as_lane(batch, (grad_output, self, target, weight, reduction, ignore_index, total_weight))
    rows, labels = _as_samples(batch, self, target)
    grad = grad_output.spread(batch.size)
    if reduction == _MEAN:
        grad = grad / total_weight.spread(batch.size)
    if reduction != _NONE and target.rank:
        grad = grad.unsqueeze(1)
    if weight is not None:
        grad = grad * _weights_of_rows(batch, weight, target.spread(batch.size), ignore_index, rows)
    grad = grad.expand((batch.size, *target.shape)).reshape(-1)
    made = batch.overload.call(grad, rows, labels, None, _NONE, ignore_index, rows.new_zeros(()))
    return made.reshape((batch.size, *self.shape))
