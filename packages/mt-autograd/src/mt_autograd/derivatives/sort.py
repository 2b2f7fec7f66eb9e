"""Derivatives of sorting: the gradient goes back to where the elements came from."""

from __future__ import annotations

from typing import Any

from ..rules import derivative, forward_rule, non_differentiable, real_only
from ._refused import refused_argument
from ._written import written
from .reduction import at_index, counted_zeros, shared_by_alike


def _scatter(grad: Any, self_spec: Any, dim: int, result1: Any) -> Any:
    return written(counted_zeros(grad, self_spec), "scatter", dim, result1, grad)


derivative("sort", self=_scatter)
derivative("sort.stable", self=_scatter)
derivative("topk", self=_scatter)
# Before those of one dimension, which PyTorch counts as the second.
derivative("median", self=shared_by_alike)
derivative("nanmedian", self=shared_by_alike)
for _name in ("kthvalue", "median.dim", "nanmedian.dim", "mode"):
    derivative(
        _name, self=lambda grad, self_spec, dim, keepdim, result1: at_index(grad, self_spec, dim, result1, keepdim)
    )


non_differentiable("searchsorted.Tensor")
for _name in ("_unique2", "unique_dim", "unique_consecutive"):
    derivative(_name, self=refused_argument(_name), differentiable_outputs=(True, False, False))
derivative("_unique", self=refused_argument("_unique"), differentiable_outputs=(True, False))

# Complex numbers have no order: PyTorch answers where there is nothing to compare, and records nothing.
real_only("median", "nanmedian", "kthvalue", "median.dim", "nanmedian.dim", "mode")
forward_rule({"self": lambda t, dim, result1: t.gather(dim, result1) if t.dim() else t}, "sort", "sort.stable", "topk")
