"""Losses over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from mt_core.checks.indexing import refuse_classes
from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import int64

from ..registry import FLOATS, fused, kernel, kernels
from .indexing import within
from .reduction import accurate_sum

_NONE, _MEAN, _SUM = range(3)


def _bounded_log(self: np.ndarray, out: Any = None) -> Any:
    return np.maximum(np.log(self), np.asarray(-100, self.dtype), out=out)


kernels({"_bounded_log": _bounded_log})


def check_classes(labels: np.ndarray, classes: int) -> None:
    """Refuse a class that there is not."""
    if not within(labels, classes):
        refuse_classes(labels[(labels < 0) | (labels >= classes)][0])


def _flat_positions(labels: np.ndarray, classes: int) -> np.ndarray:
    """Where in row-major (rows, classes) each row's class stands."""
    positions = np.arange(0, labels.size * classes, classes)
    return np.add(positions, labels, positions)


def _none_ignored(labels: np.ndarray, classes: int, ignore_index: int) -> bool:
    """Whether every label is a class, and none the one that counts for nothing; the labels are read once."""
    return not 0 <= ignore_index < classes and within(labels, classes)


def _picked(self: np.ndarray, target: np.ndarray, weight: Any, ignore_index: int) -> tuple[Any, Any, Any, Any]:
    """(rows of log probabilities, class of each row with 0 for ignored ones, weight of each row, which ones count)."""
    rows, labels = self if self.ndim == 2 else self[None], target.reshape(-1)
    counted = labels != ignore_index
    check_classes(labels[counted], rows.shape[1])
    labels = np.where(counted, labels, 0)
    if weight is None or not rows.shape[1]:
        return rows, labels, counted.astype(rows.dtype), counted
    return rows, labels, np.where(counted, weight[labels], 0), counted


@kernel("nll_loss_forward")
def nll_loss_forward(
    self: np.ndarray, target: np.ndarray, weight: Any, reduction: int, ignore_index: int
) -> tuple[np.ndarray, np.ndarray]:
    """self (N, C) or (C,), target (N,) or (), weight (C,) -> loss () or (N,), total weight ()."""
    if weight is None and target.size and _none_ignored(target, self.shape[-1], ignore_index):
        return _losses_of_all(self, target, reduction)
    rows, labels, weights, counted = _picked(self, target, weight, ignore_index)
    picked = rows[np.arange(labels.size), labels] if rows.shape[1] else np.zeros(labels.size, rows.dtype)
    # Of an ignored row 0 * inf must not become NaN; of one with a weight of 0 it does.
    losses = np.where(counted, -picked * weights, 0).astype(rows.dtype, copy=False)
    total = np.asarray(accurate_sum(weights, (0,)))
    if reduction == _NONE:
        return (losses if self.ndim == 2 else losses.reshape(())), np.zeros((), rows.dtype)
    value = np.asarray(accurate_sum(losses, (0,)))
    return (np.asarray(value / total) if reduction == _MEAN else value), total


def _losses_of_all(self: np.ndarray, target: np.ndarray, reduction: int) -> tuple[np.ndarray, np.ndarray]:
    """No row is ignored and none has a weight: self (N, C) or (C,), target (N,) or ()."""
    if self.flags.c_contiguous:
        losses = self.take(_flat_positions(target.ravel(), self.shape[-1]))
    else:
        rows = self.reshape(-1, self.shape[-1])
        losses = rows[np.arange(rows.shape[0]), target.ravel()]
    np.negative(losses, losses)
    if reduction == _NONE:
        return losses.reshape(target.shape), np.zeros((), self.dtype)
    count = np.array(losses.size, self.dtype)
    value = accurate_sum(losses, (0,))
    return (np.true_divide(value, count) if reduction == _MEAN else value), count


@kernel("nll_loss_backward")
def nll_loss_backward(
    grad_output: np.ndarray, self: np.ndarray, target: np.ndarray, weight: Any, reduction: int, ignore_index: int,
    total_weight: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """grad_output () or (N,), self (N, C) or (C,), target (N,) or (), weight (C,) -> like self."""
    if weight is None and target.size and _none_ignored(target, self.shape[-1], ignore_index):
        values = np.negative(grad_output)
        if reduction == _MEAN:
            values = values / total_weight
        out = np.zeros(self.shape, self.dtype)
        out.put(_flat_positions(target.reshape(-1), self.shape[-1]), values)
        return out
    rows, labels, weights, counted = _picked(self, target, weight, ignore_index)
    values = -weights * grad_output.reshape(-1) if reduction == _NONE else -weights * grad_output
    if reduction == _MEAN:
        values = values / total_weight
    out = np.zeros(rows.shape, rows.dtype)
    if out.size:
        out[np.arange(labels.size), labels] = np.where(counted, values, 0)
    return out.reshape(self.shape)


_LOGITS_AND_CLASSES = Accepts(
    dtypes={"self": FLOATS, "target": {int64}}, ranks={"self": (2,), "target": (1,)},
    defaults=("weight", "label_smoothing"), also=lambda self, *rest: self._array.size > 0,
)  # fmt: skip


@fused("cross_entropy_loss", _LOGITS_AND_CLASSES)
def cross_entropy(self: np.ndarray, target: np.ndarray, reduction: int, ignore_index: int) -> Any:
    """self (N, C) of logits, target (N,) of classes, without weights -> () or (N,): no array of log probabilities."""
    count, classes = self.shape
    counted: Any = count
    kept = None
    if not _none_ignored(target, classes, ignore_index):
        kept = target != ignore_index
        target = np.where(kept, target, 0)
        counted = np.count_nonzero(kept)
        check_classes(target, classes)
    shifted = np.subtract(self, np.maximum.reduce(self, 1, None, None, True))
    picked = shifted.take(_flat_positions(target, classes))
    np.exp(shifted, shifted)
    losses = np.add.reduce(shifted, 1)
    np.log(losses, losses)
    np.subtract(losses, picked, losses)
    if kept is not None:
        losses = np.where(kept, losses, losses.dtype.type(0))
    if reduction == _NONE:
        return losses
    total = np.add.reduce(losses)
    return np.true_divide(total, self.dtype.type(counted)) if reduction == _MEAN else total
