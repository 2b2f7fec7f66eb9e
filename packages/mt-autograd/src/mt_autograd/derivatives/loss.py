"""Derivatives of losses that are not composites."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.autograd_state import is_grad_enabled
from mt_core.dispatch.registry import find_overload
from mt_core.keys import STRIDED
from mt_core.promotion import result_type_of

from ..rules import derivative, forward_rule, real_only, zeros
from ._parts import counted, derivative_of_parts

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


derivative("nll_loss_backward", grad_output=_nll_twice, self=zeros)


# Losses of two tensors element by element. Each slope is written in operators, so that it has derivatives in its turn.


def _spread(grad: Any, slope: Any, reduction: int) -> Any:
    """The gradient of a reduced loss given the slope of every element, (*) -> (*), row-major; nothing has no mean."""
    result = grad * slope / slope.numel() if reduction == _MEAN and slope.numel() else grad * slope
    return result.contiguous() if result._keys & STRIDED else result


def _difference(self: Any, target: Any) -> Any:
    """self - target in their common dtype, where a bool is a number."""
    common = result_type_of((self, target))
    return self.to(common) - target.to(common)


def _mse(grad: Any, self: Any, target: Any, reduction: int) -> Any:
    return _spread(grad, _difference(self, target) * 2, reduction)


derivative("mse_loss", self=_mse, target=lambda grad, self, target, reduction: -_mse(grad, self, target, reduction))


def _smooth_l1(grad: Any, self: Any, target: Any, reduction: int, beta: float) -> Any:
    difference = _difference(self, target)
    if beta == 0:
        return _spread(grad, difference.sign(), reduction)
    return _spread(grad, ops.where(difference.abs() < beta, difference / beta, difference.sign()), reduction)


derivative(
    "smooth_l1_loss",
    self=_smooth_l1,
    target=lambda grad, self, target, reduction, beta: -_smooth_l1(grad, self, target, reduction, beta),
)


def _huber(grad: Any, self: Any, target: Any, reduction: int, delta: float) -> Any:
    difference = _difference(self, target)
    # At the kink itself the second derivative is that of the linear part.
    slope = ops.where(difference.abs() < delta, difference, difference.sign() * delta)
    return _spread(grad, slope, reduction)


derivative(
    "huber_loss",
    self=_huber,
    target=lambda grad, self, target, reduction, delta: -_huber(grad, self, target, reduction, delta),
)


def _soft_margin(grad: Any, self: Any, target: Any, reduction: int) -> Any:
    return _spread(grad, -target * (-target * self).sigmoid(), reduction)


derivative("soft_margin_loss", self=_soft_margin)
real_only("soft_margin_loss")

#: What PyTorch divides by at least, where an input of binary cross entropy is 0 or 1.
_LEAST = 1e-12


def _weighted(slope: Any, weight: Any) -> Any:
    return slope if weight is None else slope * weight


def _cross_entropy(grad: Any, self: Any, target: Any, weight: Any, reduction: int) -> Any:
    product = (1 - self) * self
    below = product.clamp_min(_LEAST)
    if not is_grad_enabled():
        slope = (self - target) / below
    else:
        # The second derivative has the bound in its denominator alone, as PyTorch's: (s**2 - 2 t s + t) / below**2.
        inverse = 1 / (product + (below - product).detach())
        fixed = self.detach()
        slope = (fixed - target) * inverse + (self - fixed) * (product * inverse * inverse)
    return _spread(grad, _weighted(slope, weight), reduction)


def _cross_entropy_target(grad: Any, self: Any, weight: Any, reduction: int) -> Any:
    spread = _spread(grad, _weighted((1 - self).log() - self.log(), weight), reduction)
    return counted(spread, 2 + (weight is not None) + (reduction == 1))


derivative("binary_cross_entropy", self=_cross_entropy, target=_cross_entropy_target)


def _cross_entropy_logits(grad: Any, self: Any, target: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    chance = self.sigmoid()
    if pos_weight is None:
        slope = chance - target
    else:
        slope = (pos_weight * target + 1 - target) * chance - pos_weight * target
    times = 2 + 2 * (pos_weight is not None) + (weight is not None) + (reduction == 1)
    return counted(_spread(grad, _weighted(slope, weight), reduction), times)


def _cross_entropy_logits_target(grad: Any, self: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    slope = -self if pos_weight is None else ops.log_sigmoid(-self) - pos_weight * ops.log_sigmoid(self)
    times = 2 * (pos_weight is not None) + (weight is not None) + (reduction == 1)
    return counted(_spread(grad, _weighted(slope, weight), reduction), times)


derivative("binary_cross_entropy_with_logits", self=_cross_entropy_logits, target=_cross_entropy_logits_target)
derivative_of_parts("nll_loss2d", "self")
derivative_of_parts("multi_margin_loss", "self")
derivative_of_parts("multilabel_margin_loss", "self")

forward_rule("linear", "nll_loss_forward")
