"""Running sums and products for backends that have kernels for ``add`` and ``mul`` alone, and copy slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from .reduction_statistics import factors


def _running(self: Any, dim: int, join: Callable[[Any, Any], Any]) -> Any:
    """self (*L, N, *R) -> (*L, N, *R): each joined with all before it, in log2(N) steps (Hillis and Steele, 1986)."""
    if not self._array.ndim:
        return self
    dim %= self._array.ndim
    size, step = self._array.shape[dim], 1
    while step < size:
        rest = size - step
        joined = join(self.narrow(dim, step, rest), self.narrow(dim, 0, rest))
        self = ops.cat([self.narrow(dim, 0, step), joined], dim)
        step *= 2
    return self


@composite("cumsum", explicit=True)
def cumsum(self: Any, dim: int, dtype: Any) -> Any:
    """self (*) -> (*); int64 for integers and bool."""
    return _running(factors(self, dtype), dim, ops.add)


@composite("cumprod", explicit=True)
def cumprod(self: Any, dim: int, dtype: Any) -> Any:
    """self (*) -> (*); int64 for integers and bool."""
    return _running(factors(self, dtype), dim, ops.mul)
