"""Losses over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import kernel, kernels, short_form
from .indexing import within
from .reduction import accurate_sum

_NONE, _MEAN, _SUM = range(3)


def _bounded_log(self: np.ndarray, out: Any = None) -> Any:
    return np.maximum(np.log(self), np.asarray(-100, self.dtype), out=out)


kernels({"_bounded_log": _bounded_log})


def _picked(self: np.ndarray, target: np.ndarray, weight: Any, ignore_index: int) -> tuple[Any, Any, Any]:
    """(rows of log probabilities, class of each row with 0 for ignored ones, weight of each row)."""
    rows, labels = self.reshape(-1, self.shape[-1]), target.reshape(-1)
    ignored = labels == ignore_index
    labels = np.where(ignored, 0, labels)
    if not within(labels, rows.shape[1]):
        bad = labels[(labels < 0) | (labels >= rows.shape[1])][0]
        raise IndexError(f"Target {bad} is out of bounds.")
    counted = np.logical_not(ignored)
    return rows, labels, counted.astype(rows.dtype) if weight is None else np.where(counted, weight[labels], 0)


@kernel("nll_loss_forward")
def nll_loss_forward(
    self: np.ndarray, target: np.ndarray, weight: Any, reduction: int, ignore_index: int
) -> tuple[np.ndarray, np.ndarray]:
    rows, labels, weights = _picked(self, target, weight, ignore_index)
    picked = rows[np.arange(labels.size), labels]
    # 0 * inf must not become NaN where a row is ignored.
    losses = np.where(weights != 0, -picked * weights, 0).astype(rows.dtype, copy=False)
    total = np.asarray(accurate_sum(weights, (0,)))
    if reduction == _NONE:
        return (losses if self.ndim == 2 else losses.reshape(())), np.zeros((), rows.dtype)
    value = np.asarray(accurate_sum(losses, (0,)))
    return (np.asarray(value / total) if reduction == _MEAN else value), total


@kernel("nll_loss_backward")
def nll_loss_backward(
    grad_output: np.ndarray, self: np.ndarray, target: np.ndarray, weight: Any, reduction: int, ignore_index: int,
    total_weight: np.ndarray,
) -> np.ndarray:  # fmt: skip
    rows, labels, weights = _picked(self, target, weight, ignore_index)
    values = -weights * grad_output.reshape(-1) if reduction == _NONE else -weights * grad_output
    if reduction == _MEAN:
        values = values / total_weight
    out = np.zeros(rows.shape, rows.dtype)
    out[np.arange(labels.size), labels] = np.where(weights != 0, values, 0)
    return out.reshape(self.shape)


@short_form("cross_entropy_loss", mixed=True)
def cross_entropy(
    self: np.ndarray, target: np.ndarray, weight: Any, reduction: int, ignore_index: int, label_smoothing: float
) -> Any:
    """Rows of logits and their class indices, without weights: one pass, no array of log probabilities."""
    if (
        weight is not None
        or label_smoothing
        or self.ndim != 2
        or target.ndim != 1
        or not self.size
        or target.dtype != np.int64
    ):
        return None
    count, classes = self.shape
    if target.shape[0] != count or np.minimum.reduce(target) < 0 or np.maximum.reduce(target) >= classes:
        return None
    shifted = self - np.maximum.reduce(self, 1, None, None, True)
    picked = shifted[np.arange(count), target]
    np.exp(shifted, shifted)
    losses = np.subtract(np.log(np.add.reduce(shifted, 1)), picked)
    if reduction == _NONE:
        return losses
    total = np.add.reduce(losses)
    return total / self.dtype.type(count) if reduction == _MEAN else total
