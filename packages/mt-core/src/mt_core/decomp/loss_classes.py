"""The loss of class indices for backends that have kernels for ``sum``, ``where`` and arithmetic alone.

Which class a row is of, a comparison of its label with all class numbers says. A label that names none is refused: for
that, labels are read on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..api import _functions as ops
from ..checks.indexing import refuse_classes
from ..dispatch.registry import register_composite as composite
from ..hollow import seen_through
from ..host import host_array

_NONE, _MEAN, _SUM = range(3)


def _chosen(self: Any, target: Any, weight: Any, ignore_index: int) -> tuple[Any, Any, Any]:
    """(log probabilities (N, C), where each row's class is (N, C), weights (N,), 0 for ignored rows)."""
    classes = self._array.shape[-1]
    _refuse_other_classes(host_array(seen_through(target)), classes, ignore_index)
    rows, labels = self.reshape(-1 if classes else target._array.size, classes), target.to(dtypes.int64).reshape(-1, 1)
    counted = ops.ne(labels, ignore_index)
    chosen = ops.logical_and(ops.eq(labels, ops.arange(classes, device=self.device)), counted)
    weights = counted.squeeze(1).to(self.dtype) if weight is None else _picked(chosen, weight)
    return rows, chosen, weights


def _refuse_other_classes(labels: np.ndarray, classes: int, ignore_index: int) -> None:
    wrong = labels[(labels != ignore_index) & ((labels < 0) | (labels >= classes))]
    if wrong.size:
        refuse_classes(int(wrong.flat[0]))


def _picked(chosen: Any, values: Any) -> Any:
    """chosen (N, C), values (N, C) or (C,) -> (N,), 0 where none is chosen."""
    return ops.sum(ops.where(chosen, values, 0), (1,))


@composite("nll_loss_forward", explicit=True)
def nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Any, Any]:
    """self (N, C) or (C,), target (N,) or (), weight (C,) -> loss () or (N,), total weight ()."""
    rows, chosen, weights = _chosen(self, target, weight, ignore_index)
    picked = ops.mul(ops.neg(_picked(chosen, rows)), weights)
    losses = ops.where(weights.to(dtypes.bool), picked, 0)  # 0 * inf must not become NaN where a row is ignored
    if reduction == _NONE:
        return (losses if self._array.ndim == 2 else losses.reshape(())), self.new_zeros(())
    total, loss = ops.sum(weights), ops.sum(losses)
    return (ops.div(loss, total) if reduction == _MEAN else loss), total


@composite("nll_loss_backward", explicit=True)
def nll_loss_backward(
    grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total_weight: Any
) -> Any:
    """grad_output () or (N,), self (N, C) or (C,), target (N,) or (), weight (C,) -> like self."""
    _, chosen, weights = _chosen(self, target, weight, ignore_index)
    values = ops.mul(ops.neg(weights), grad_output.reshape(-1))
    if reduction == _MEAN:
        values = ops.div(values, total_weight)
    taken = ops.logical_and(chosen, weights.to(dtypes.bool).unsqueeze(1))
    return ops.where(taken, values.unsqueeze(1), 0).reshape(self._array.shape)


@composite("_bounded_log", explicit=True)
def bounded_log(self: Any) -> Any:
    """log, not below -100."""
    return ops.clamp_min(ops.log(self), -100)
