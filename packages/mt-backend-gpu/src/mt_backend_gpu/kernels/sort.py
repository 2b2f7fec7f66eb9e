"""Sorting: the order is stable, and equal elements keep theirs, which PyTorch leaves open on CUDA."""

from __future__ import annotations

from typing import Any

from .. import namespace as np
from ..registry import kernel
from ..shared import replace
from ..shared.along import take_along

Pair = tuple[Any, Any]


def first_of_each(keys: Any, k: int, sort: bool) -> Any:
    """Places of the k smallest of equal keys (B, N) -> (B, k): the first."""
    return np.broadcast_to(np.arange(k), (keys.shape[0], k))


_shared: Any = replace("kernels.sort", places_selected=first_of_each)


@kernel("sort")
def sort(self: Any, dim: int, descending: bool) -> Pair:
    """self (*) -> values (*), indices (*) of int64."""
    return sort_stable(self, True, dim, descending)


@kernel("sort.stable")
def sort_stable(self: Any, stable: Any, dim: int, descending: bool) -> Pair:
    """self (*) -> values (*), indices (*) of int64."""
    if not self.ndim:
        return self.copy(), np.zeros((), np.int64)
    order = _shared.order_of(self, dim, descending)
    return take_along(self, order, dim), order


@kernel("topk")
def topk(self: Any, k: int, dim: int, largest: bool, sorted: bool) -> Pair:
    """self (*L, N, *R) -> values and indices (int64), (*L, k, *R), at `dim`."""
    if not self.ndim:
        return self.copy(), np.zeros((), np.int64)
    dim %= self.ndim
    order = _shared.order_of(self, dim, largest)[(*(slice(None),) * dim, slice(k))]
    return take_along(self, order, dim), np.ascontiguousarray(order)


@kernel("kthvalue")
def kthvalue(self: Any, k: int, dim: int, keepdim: bool) -> Pair:
    """self (*S) -> values and indices (int64), S without the dimension `dim`, or 1 there with `keepdim`."""
    if not self.ndim:
        return self.copy(), np.zeros((), np.int64)
    dim %= self.ndim
    index = _shared.order_of(self, dim, False)[(*(slice(None),) * dim, slice(k - 1, k))]
    values = take_along(self, index, dim)
    index = np.ascontiguousarray(index)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))
