"""Derivatives of distances."""

from __future__ import annotations

import math
from typing import Any

from mt_core.api import _functions as ops

from ..rules import joint_derivative
from ._parts import derivative_of_parts


def _cdist(grads: Any, mask: Any, x1: Any, x2: Any, p: float, result: Any) -> tuple[Any, Any]:
    """Slopes of the p-norm; zero where two rows agree, and, for p = inf, that of every largest difference."""
    grad = grads[0]
    if grad is None:
        return None, None
    if not p or not result.numel():
        return ops.zeros_like(x1), ops.zeros_like(x2)
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    distance = result.unsqueeze(-1)
    slope = grad.unsqueeze(-1) * _slope(difference, distance, p)
    return slope.sum(-2) if mask[0] else None, -slope.sum(-3) if mask[1] else None


def _slope(difference: Any, distance: Any, p: float) -> Any:
    if p == 1:
        return difference.sign()
    if math.isinf(p):
        return difference.sign() * (difference.abs() == distance)
    apart = distance != 0
    safe = ops.where(apart, distance, ops.ones_like(distance))
    if p == 2:
        return difference / safe * apart
    size = difference.abs()
    powers = ops.where(size == 0, size, ops.where(size == 0, ops.ones_like(size), size).pow(p - 1))
    return difference.sign() * powers / safe.pow(p - 1) * apart


joint_derivative("_cdist_forward", ("x1", "x2"), _cdist, node="CdistBackward0")
derivative_of_parts("pdist", "self")
derivative_of_parts("_weight_norm", "v", "g", node="WeightNormInterfaceBackward0")
