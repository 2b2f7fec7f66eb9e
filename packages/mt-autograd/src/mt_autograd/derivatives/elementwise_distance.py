"""The derivative of the distance of two tensors."""

from __future__ import annotations

from typing import Any

from ..rules import joint_derivative
from .linalg import vector_norm_backward


def _dist(grads: Any, mask: Any, self: Any, other: Any, p: Any, result: Any) -> tuple[Any, Any]:
    """The slope of the norm of the difference, and its negative."""
    slope = vector_norm_backward(grads[0], self - other, p, None, False, result)
    return slope, None if slope is None or not mask[1] else -slope


joint_derivative("dist", ("self", "other"), _dist)
