"""Derivatives of sorting: the gradient goes back to where the elements came from."""

from __future__ import annotations

from typing import Any

from ..rules import derivative, non_differentiable
from .reduction import at_index


def _scatter(grad: Any, self_spec: Any, dim: int, result1: Any) -> Any:
    if not self_spec.shape:
        return grad
    return grad.new_zeros(self_spec.shape).scatter(dim, result1, grad)


derivative("sort.stable", self=_scatter)
derivative("topk", self=_scatter)
for _name in ("kthvalue", "median.dim", "nanmedian.dim", "mode"):
    derivative(
        _name, self=lambda grad, self_spec, dim, keepdim, result1: at_index(grad, self_spec, dim, result1, keepdim)
    )


def _all_equal(grad: Any, self: Any, result: Any) -> Any:
    """The gradient of a median, in equal parts to the elements that have its value (NaN included)."""
    mask = (self == result) | (self.isnan() & result.isnan())
    return grad * mask / mask.sum()


derivative("median", self=_all_equal)
derivative("nanmedian", self=_all_equal)
non_differentiable("searchsorted.Tensor", "_unique2", "unique_dim", "unique_consecutive")
