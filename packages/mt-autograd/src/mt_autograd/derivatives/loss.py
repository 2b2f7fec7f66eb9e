"""Derivatives of losses that are not composites."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.dispatch.registry import find_overload

from ..rules import derivative

derivative("_bounded_log", self=lambda grad, self: grad / self.clamp_min(1e-12))

_NONE, _MEAN, _SUM = range(3)


def _nll(grad: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, result1: Any) -> Any:
    backward = find_overload("nll_loss_backward")
    return backward.call(grad, self, target, weight, reduction, ignore_index, result1)


derivative("nll_loss_forward", self=_nll, differentiable_outputs=(True, False), node="NllLossBackward0")


def _nll_twice(
    grad: Any, self_spec: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total_weight: Any
) -> Any:
    """The backward is linear in its gradient.

    What it spread over the classes is picked up again, with the same weights.
    """
    forward = ops.nll_loss_forward(grad, target, weight, _NONE if reduction == _NONE else _SUM, ignore_index)[0]
    return forward / total_weight if reduction == _MEAN else forward


derivative("nll_loss_backward", grad_output=_nll_twice)
