"""Losses of classes by the native library."""

from __future__ import annotations

from typing import Any, NoReturn

from mt_core.checks.indexing import refuse_classes
from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32, int64

from ..registry import fused, kernel
from . import library

if library is not None:
    _cross_entropy, _nll_loss, _nll_loss_backward = library.cross_entropy, library.nll_loss, library.nll_loss_backward
    _SINGLE, _LABELS = frozenset((float32,)), frozenset((int64,))

    def _has_classes(self: Any, target: Any, weight: Any, reduction: int, *rest: Any) -> bool:
        """Whether there are scores, and the reduction is one of the three: any integer is let through."""
        return bool(self._array.size > 0 and 0 <= reduction <= 2)

    def _refuse(self: Any, target: Any, ignore_index: int) -> NoReturn:
        classes = self.shape[-1]
        refuse_classes(int(target[(target != ignore_index) & ((target < 0) | (target >= classes))].reshape(-1)[0]))

    @fused(
        "cross_entropy_loss",
        Accepts(
            dtypes={"self": _SINGLE, "target": _LABELS}, ranks={"self": (2,), "target": (1,)}, layout="row_major",
            defaults=("weight", "label_smoothing"), also=_has_classes,
        ),
    )  # fmt: skip
    def cross_entropy(self: Any, target: Any, reduction: int, ignore_index: int) -> Any:
        """self (N, C) of logits, target (N,) of classes, without weights -> () or (N,)."""
        loss = _cross_entropy(self, target, reduction, ignore_index)
        if loss is None:
            _refuse(self, target, ignore_index)
        return loss

    @kernel(
        "nll_loss_forward",
        accepts=Accepts(
            dtypes={"self": _SINGLE, "target": _LABELS, "weight": _SINGLE}, layout="row_major", also=_has_classes
        ),
    )
    def nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Any, Any]:
        """self (N, C) or (C,), target (N,) or (), weight (C,) -> loss () or (N,), total weight ()."""
        found = _nll_loss(self, target, weight, reduction, ignore_index)
        if found is None:
            _refuse(self, target, ignore_index)
        loss, total = found
        return (loss if loss.ndim < self.ndim else loss.reshape(())), total

    @kernel(
        "nll_loss_backward",
        accepts=Accepts(
            dtypes=dict.fromkeys(("grad_output", "self", "weight", "total_weight"), _SINGLE) | {"target": _LABELS},
            layout="row_major", also=lambda grad_output, *rest: _has_classes(*rest),
        ),
    )  # fmt: skip
    def nll_loss_backward(
        grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total_weight: Any
    ) -> Any:
        """grad_output () or (N,), self (N, C) or (C,), target (N,) or (), weight (C,) -> like self."""
        gradient = _nll_loss_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight)
        if gradient is None:
            _refuse(self, target, ignore_index)
        return gradient
