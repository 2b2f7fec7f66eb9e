"""Products for backends that have a kernel for ``mm`` alone."""

from __future__ import annotations

from typing import Any

from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from .matmul import combine


@composite("bmm", explicit=True)
def bmm(self: Any, mat2: Any) -> Any:
    """self (B, M, K), mat2 (B, K, N) -> (B, M, N): one `mm` after the other."""
    (count, rows, _), columns = self._array.shape, mat2._array.shape[2]
    result = self.new_empty((count, rows, columns))
    for one, left, right in zip(result.unbind(0), self.unbind(0), mat2.unbind(0), strict=True):
        one.copy_(ops.mm(left, right))
    return result


@composite("mv", explicit=True)
def mv(self: Any, vec: Any) -> Any:
    """self (M, K), vec (K,) -> (M,)."""
    return ops.mm(self, vec.unsqueeze(1)).squeeze(1)


@composite("dot", explicit=True)
def dot(self: Any, tensor: Any) -> Any:
    """self (K,), tensor (K,) -> ()."""
    return ops.mm(self.unsqueeze(0), tensor.unsqueeze(1)).view(())


@composite("addmm", explicit=True)
def addmm(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    """self broadcast to (M, N), mat1 (M, K), mat2 (K, N) -> (M, N)."""
    return combine(self, ops.mm(mat1, mat2), beta, alpha)


@composite("_addmm_activation", explicit=True)
def addmm_activation(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any, use_gelu: bool) -> Any:
    """self broadcast to (M, N), mat1 (M, K), mat2 (K, N) -> (M, N)."""
    made = ops.addmm(self, mat1, mat2, beta=beta, alpha=alpha)
    return ops.gelu(made) if use_gelu else ops.relu(made)


@composite("addmv", explicit=True)
def addmv(self: Any, mat: Any, vec: Any, beta: Any, alpha: Any) -> Any:
    """self broadcast to (M,), mat (M, K), vec (K,) -> (M,)."""
    if not mat.numel() and beta != 0:
        return self * beta
    return combine(self, ops.mv(mat, vec), beta, alpha)


@composite("baddbmm", explicit=True)
def baddbmm(self: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    """self broadcast to (B, M, N), batch1 (B, M, K), batch2 (B, K, N) -> (B, M, N)."""
    return combine(self, ops.bmm(batch1, batch2), beta, alpha)


@composite("_linear_of_rows", explicit=True)
def linear_of_rows(bias: Any, input: Any, weight: Any) -> Any:
    """bias (N,), input (M, K), weight (N, K) -> (M, N)."""
    return ops.addmm(bias, input, weight.t())
