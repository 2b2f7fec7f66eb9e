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
    if dim == 0:
        return ops._norm_over(v.contiguous().view(v.size(0), -1), pow, (1,)).view(v.size(0), *(1,) * (v.dim() - 1))
    if dim == v.dim() - 1:
        return ops._norm_over(v.contiguous().view(-1, v.shape[-1]), pow, (0,)).view(*(1,) * dim, v.shape[-1])
    return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)


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
