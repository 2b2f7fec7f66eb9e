"""Batching rules: the loss of class indices. Lanes are more samples; each is reduced by itself afterwards."""

from __future__ import annotations

from typing import Any

from ...dispatch.registry import find_overload
from ..batched import Lanes
from ._lanes import is_shared
from ._rules import Batch, batching_rule

_NONE, _MEAN, _SUM = range(3)


def _as_samples(batch: Batch, self: Lanes, target: Lanes) -> tuple[Any, Any]:
    """self (N, C) or (C,), target (N,) or () -> (B N, C), (B N,)."""
    value, labels = self.spread(batch.size), target.spread(batch.size)
    return value.reshape((labels.numel(), value.shape[-1])), labels.reshape(-1)


def _fits(self: Lanes, target: Lanes) -> bool:
    return self.rank in (1, 2) and target.shape == self.shape[:-1]


@batching_rule("nll_loss_forward")
def nll_loss_forward(
    batch: Batch, self: Lanes, target: Lanes, weight: Lanes | None, reduction: int, ignore_index: int
) -> Any:
    if not _fits(self, target) or not is_shared(weight):
        return NotImplemented
    rows, labels = _as_samples(batch, self, target)
    scale = None if weight is None else weight.value
    losses, none = batch.overload.call(rows, labels, scale, _NONE, ignore_index)
    losses = losses.reshape((batch.size, *target.shape))
    if reduction == _NONE:
        return losses, none.expand((batch.size,))
    # Every row's weight is what it loses by a log probability of -1.
    weights, _ = batch.overload.call(rows.new_full(rows.shape, -1), labels, scale, _NONE, ignore_index)
    dims = tuple(range(1, losses.dim()))
    total = weights.reshape(losses.shape)
    loss, total = (losses.sum(dims), total.sum(dims)) if dims else (losses, total)
    return (loss / total if reduction == _MEAN else loss), total


@batching_rule("nll_loss_backward")
def nll_loss_backward(
    batch: Batch, grad_output: Lanes, self: Lanes, target: Lanes, weight: Lanes | None, reduction: int,
    ignore_index: int, total_weight: Lanes,
) -> Any:  # fmt: skip
    if not _fits(self, target) or not is_shared(weight):
        return NotImplemented
    rows, labels = _as_samples(batch, self, target)
    grad = grad_output.spread(batch.size)
    if reduction == _MEAN:
        grad = grad / total_weight.spread(batch.size)
    if reduction != _NONE and target.rank:
        grad = grad.unsqueeze(1)
    grad = grad.expand((batch.size, *target.shape)).reshape(-1)
    scale = None if weight is None else weight.value
    backward = find_overload("nll_loss_backward").call
    made = backward(grad, rows, labels, scale, _NONE, ignore_index, rows.new_zeros(()))
    return made.reshape((batch.size, *self.shape))
