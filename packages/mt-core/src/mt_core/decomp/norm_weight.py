"""Norms of weights and of differences written in other operators."""

from __future__ import annotations

from typing import Any

from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite


@composite("norm_except_dim")
def norm_except_dim(v: Any, pow: int, dim: int) -> Any:
    """v (*L, N, *R) -> (1, ..., N, ..., 1), at `dim`; () for -1."""
    if dim == -1:
        return v.norm(pow)
    others = [other for other in range(v.dim()) if other != dim]
    if len(others) == v.dim():
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-v.dim()}, {v.dim() - 1}], but got {dim})"
        )
    if not others:
        return v.abs()
    return v.norm(pow, others, keepdim=True)


@composite("_weight_norm")
def weight_norm(v: Any, g: Any, dim: int) -> Any:
    """v (*L, N, *R), g (1, ..., N, ..., 1) -> (*L, N, *R)."""
    return v * (g / norm_except_dim(v, 2, dim))


@composite("pdist")
def pdist(self: Any, p: float) -> Any:
    """self (N, M) -> (N (N - 1) / 2,): the distances of all pairs of rows."""
    if self.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.dim()}D")
    if not self.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    rows = self.shape[0]
    if rows < 2:
        return self.new_zeros((0,))
    first, second = ops.triu_indices(rows, rows, 1, device=self.device).unbind(0)
    return ops.linalg_vector_norm(self[first] - self[second], p, [1])
