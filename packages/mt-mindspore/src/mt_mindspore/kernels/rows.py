"""Ranges, losses of classes and gradients of embeddings on any device target: nothing is read on the host."""

from __future__ import annotations

import math
from typing import Any

import mindspore
from mindspore import mint, ops

from mt_core.checks.indexing import refuse_classes

from ..registry import Table
from .common import _cast, bounded, operand, theirs

__all__ = ["TABLE"]

TABLE = Table()
kernel = TABLE.kernel
_NONE, _MEAN, _SUM = range(3)


# Ranges


@kernel("arange.start_step", half="native")
def arange_step(start: Any, end: Any, step: Any, spec: Any) -> Any:
    """-> (ceil((end - start) / step),): multiplied in float64 or int64, and rounded once."""
    wide = mindspore.int64 if spec.dtype.is_integral else mindspore.float64
    count = spec.shape[0]
    if not count:
        return mint.empty((0,), dtype=theirs(spec.dtype))
    places = _cast(ops.arange(count), wide)
    if spec.dtype.is_integral:
        start, step = int(start), int(step)
    made = mint.add(mint.mul(places, operand(step, places)), operand(start, places))
    return _cast(made, theirs(spec.dtype))


@kernel("range", half="native")
def range_(start: Any, end: Any, step: Any, spec: Any) -> Any:
    """-> (floor((end - start) / step) + 1,)."""
    return arange_step(start, end, step, spec)


@kernel("arange.start", half="native")
def arange_start(start: Any, end: Any, spec: Any) -> Any:
    """-> (ceil(end - start),)."""
    return arange_step(start, end, 1, spec)


@kernel("arange", half="native")
def arange(end: Any, spec: Any) -> Any:
    """-> (ceil(end),)."""
    return arange_step(0, end, 1, spec)


# Losses of classes


def _chosen(self: Any, target: Any, weight: Any, ignore_index: int) -> tuple[Any, Any]:
    """(where each row's class is (N, C), weights (N,), 0 for ignored rows)."""
    classes = self.shape[-1]
    labels = _cast(target, mindspore.int64).reshape((-1, 1))
    counted = mint.ne(labels, operand(ignore_index, labels))
    bounded(mint.where(counted, labels, operand(0, labels)), classes, refuse_classes)
    chosen = mint.logical_and(mint.eq(labels, _cast(ops.arange(classes), mindspore.int64)), counted)
    weights = _cast(counted.reshape((-1,)), self.dtype) if weight is None else _picked(chosen, weight)
    return chosen, weights


def _picked(chosen: Any, values: Any) -> Any:
    """chosen (N, C), values (N, C) or (C,) -> (N,), 0 where none is chosen."""
    return mint.sum(mint.where(chosen, values, operand(0, values)), (1,))


def _refuse_all_but(target: Any, ignore_index: int) -> None:
    """Where there are no classes, every row has to be ignored."""
    for label in target.reshape((-1,)).tolist():
        if label != ignore_index:
            refuse_classes(label)


def _loss_of_nothing(self: Any, target: Any, reduction: int, ignore_index: int) -> tuple[Any, Any]:
    """The loss without rows, or without classes."""
    _refuse_all_but(target, ignore_index)
    zero = mint.zeros((), dtype=self.dtype)
    if reduction == _NONE:
        return mint.zeros(tuple(target.shape), dtype=self.dtype), zero
    return (operand(math.nan, self) if reduction == _MEAN else zero), mint.zeros((), dtype=self.dtype)


@kernel("nll_loss_forward", takes="fd")
def nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Any, Any]:
    """self (N, C) or (C,), target (N,) or (), weight (C,) -> loss () or (N,), total weight ()."""
    if not self.size:
        return _loss_of_nothing(self, target, reduction, ignore_index)
    rows = self.reshape((-1, self.shape[-1]))
    chosen, weights = _chosen(self, target, weight, ignore_index)
    zero = operand(0, self)
    picked = mint.mul(mint.neg(_picked(chosen, rows)), weights)
    losses = mint.where(mint.ne(weights, zero), picked, zero)  # 0 * inf must not become NaN where a row is ignored
    if reduction == _NONE:
        return (losses if self.ndim == 2 else losses.reshape(())), mint.zeros((), dtype=self.dtype)
    total, loss = mint.sum(weights, (0,)), mint.sum(losses, (0,))
    return (mint.div(loss, total) if reduction == _MEAN else loss), total


@kernel("nll_loss_backward", takes="fd")
def nll_loss_backward(
    grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total_weight: Any
) -> Any:
    """grad_output () or (N,), self (N, C) or (C,), target (N,) or (), weight (C,) -> like self."""
    if not self.size:
        _refuse_all_but(target, ignore_index)
        return mint.zeros(tuple(self.shape), dtype=self.dtype)
    chosen, weights = _chosen(self, target, weight, ignore_index)
    values = mint.mul(mint.neg(weights), grad_output.reshape((-1,)))
    if reduction == _MEAN:
        values = mint.div(values, total_weight)
    zero = operand(0, self)
    taken = mint.logical_and(chosen, mint.ne(weights, zero).reshape((-1, 1)))
    return mint.where(taken, values.reshape((-1, 1)), zero).reshape(tuple(self.shape))


# Embeddings


@kernel("embedding_dense_backward", takes="fd")
def embedding_dense_backward(
    grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    """grad_output (*, E), indices (*) -> (num_weights, E): for each row, the sum of what went out of it."""
    width = grad_output.shape[-1]
    result = mint.zeros((num_weights, width), dtype=grad_output.dtype)
    if not indices.size or not width:
        return result
    places, grads = _cast(indices.reshape((-1, 1)), mindspore.int64), grad_output.reshape((-1, width))
    kept = mint.ne(places, operand(padding_idx, places))
    grads = mint.where(kept, grads, operand(0, grads))
    wide = mint.broadcast_to(places, tuple(grads.shape)).contiguous()
    result = ops.tensor_scatter_elements(result, wide, grads, 0, "add")
    if not scale_grad_by_freq:
        return result
    counts = mint.zeros((num_weights, 1), dtype=grads.dtype)
    counts = ops.tensor_scatter_elements(counts, places, _cast(kept, grads.dtype), 0, "add")
    return mint.div(result, mint.maximum(counts, operand(1, counts)))
