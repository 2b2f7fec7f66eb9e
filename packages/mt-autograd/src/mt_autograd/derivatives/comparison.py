"""Derivatives of choices and limits; comparisons have none."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.state import tls

from ..rules import derivative, non_differentiable, real_only, zero
from ._parts import written_times
from ._refused import refused_operator

non_differentiable(
    "eq.Tensor", "ne.Tensor", "lt.Tensor", "le.Tensor", "gt.Tensor", "ge.Tensor", "isnan", "isinf", "isfinite",
    "isreal", "isposinf", "isneginf", "signbit", "isin.Tensor_Tensor",
)  # fmt: skip
non_differentiable("logical_not", "logical_and", "logical_or", "logical_xor", history_stays=True)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    derivative(f"{_name}_.Tensor", node=f"{_name.title()}Backward1", self=zero, other=written_times(1, zero))


def chosen(grad: Any, mask: Any) -> Any:
    """grad where the mask is true, else zero."""
    return ops.where(mask, grad, 0)


def _shared(grad: Any, loses: Any, equal: Any) -> Any:
    """The gradient, half of it where both are equal, none where this side loses; beside a NaN neither side does."""
    return ops.where(equal, grad / 2, grad).masked_fill_(loses, 0)


derivative(
    "where.self",
    self=lambda grad, condition: chosen(grad, condition),
    other=lambda grad, condition: ops.where(condition, 0, grad),
)
derivative(
    "maximum",
    self=lambda grad, self, other: _shared(grad, self < other, self == other),
    other=lambda grad, self, other: _shared(grad, other < self, self == other),
)
derivative(
    "minimum",
    self=lambda grad, self, other: _shared(grad, self > other, self == other),
    other=lambda grad, self, other: _shared(grad, other > self, self == other),
)
derivative(
    "fmax",
    self=lambda grad, self, other: grad.masked_fill(~((self >= other) | ops.isnan(other)), 0),
    other=lambda grad, self, other: grad.masked_fill((self >= other) | ops.isnan(other), 0),
)
derivative(
    "fmin",
    self=lambda grad, self, other: grad.masked_fill(~((self <= other) | ops.isnan(other)), 0),
    other=lambda grad, self, other: grad.masked_fill((self <= other) | ops.isnan(other), 0),
)


def _both(mask: Any, other: Any) -> Any:
    """Where both are true; as in PyTorch it is refused that the second is of more elements than the first."""
    return mask & other if tls.transforms else mask.logical_and_(other)


def _clamp(grad: Any, self: Any, min: Any, max: Any) -> Any:
    """grad where self lies within the limits, which count as within."""
    if min is None:
        return chosen(grad, self <= max)
    if max is None:
        return chosen(grad, self >= min)
    return chosen(grad, _both(self >= min, self <= max))


def _clamp_min(grad: Any, self: Any, min: Any, max: Any) -> Any:
    """grad where the lower limit is the result: the upper one wins where they contradict."""
    if max is None:
        return chosen(grad, self < min)
    return chosen(grad, _both(self < min, min < max))


def _clamp_max(grad: Any, self: Any, min: Any, max: Any) -> Any:
    """grad where the upper limit is the result."""
    if min is None:
        return chosen(grad, self > max)
    loses = self > max
    return chosen(grad, loses | (max < min) if tls.transforms else loses.logical_or_(max < min))


derivative("clamp.Tensor", self=_clamp, min=_clamp_min, max=_clamp_max)
derivative("clamp", self=_clamp)
derivative("clamp_min", self=lambda grad, self, min: chosen(grad, self >= min))
derivative(
    "clamp_min.Tensor",
    self=lambda grad, self, min: chosen(grad, self >= min),
    min=lambda grad, self, min: chosen(grad, self < min),
)
derivative("clamp_max", self=lambda grad, self, max: chosen(grad, self <= max))
derivative(
    "clamp_max.Tensor",
    self=lambda grad, self, max: chosen(grad, self <= max),
    max=lambda grad, self, max: chosen(grad, self > max),
)
derivative("nan_to_num", self=lambda grad, self: chosen(grad, ops.isfinite(self)))
real_only("nan_to_num")
refused_operator("heaviside", "self", "values")
