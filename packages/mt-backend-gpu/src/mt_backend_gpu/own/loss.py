"""nll_loss, forward and backward, in one launch each; classes are checked on the device (`compiled.faults`)."""

from __future__ import annotations

from typing import Any

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import int64, uint8

from ..compiled import loss, softmax
from ..compiled.on_cupy import FLOATING, compiled, machine, row_major

_TYPES = {"self": FLOATING, "target": frozenset((int64, uint8))}


def _of_one_type(self: Any, weight: Any) -> bool:
    return self._array.size > 0 and (weight is None or weight._dtype is self._dtype)


@compiled(
    "nll_loss_forward",
    accepts=Accepts(dtypes=_TYPES, also=lambda self, target, weight, *rest: _of_one_type(self, weight)),
)
def nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Any, Any]:
    """self (N, C) or (C,), target (N,) or (), weight (C,) -> loss () or (N,), total weight ()."""
    return loss.nll_loss(machine(), row_major(self), row_major(target), row_major(weight), reduction, ignore_index)


@compiled(
    "nll_loss_backward",
    accepts=Accepts(
        dtypes=_TYPES,
        also=lambda grad, self, target, weight, *rest: _of_one_type(self, weight) and grad._dtype is self._dtype,
    ),
)
def nll_loss_backward(
    grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total_weight: Any
) -> Any:
    """grad_output () or (N,), self (N, C) or (C,), target (N,) or (), weight (C,) -> like self."""
    return loss.nll_loss_backward(
        machine(), row_major(grad_output), row_major(self), row_major(target), row_major(weight), reduction,
        ignore_index, total_weight,
    )  # fmt: skip


@compiled(
    "cross_entropy_loss",
    accepts=Accepts(
        dtypes={"self": FLOATING, "target": frozenset((int64,))}, ranks={"self": (2,), "target": (1,)},
        defaults=("weight", "label_smoothing"), also=lambda self, *rest: self._array.size > 0,
    ),
    recorded=False,
)  # fmt: skip
def cross_entropy(self: Any, target: Any, reduction: int, ignore_index: int) -> Any:
    """self (N, C) of logits, target (N,) of classes, without weights -> () or (N,), where no gradient is recorded."""
    logarithms = softmax.softmax(machine(), row_major(self), 1, log=True)
    return loss.nll_loss(machine(), logarithms, row_major(target), None, reduction, ignore_index)[0]
