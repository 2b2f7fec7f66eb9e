"""Indexing for backends that have kernels for ``sum``, ``where`` and arithmetic alone, and copy slices.

Which rows are meant is read on the host, as is whether there are such rows; each is then copied. What is picked element
by element is the sum of what a comparison of all places leaves over: it takes memory for all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api import _functions as ops
from ..checks.indexing import refuse_index, refuse_picked, refuse_selected
from ..dispatch.registry import register_composite as composite
from ..host import host_array


@composite("masked_fill.Scalar", explicit=True)
def masked_fill(self: Any, mask: Any, value: Any) -> Any:
    """self (*), mask (*) of bool, broadcast -> the common shape."""
    return ops.where(mask, self.new_full((), value), self)


@composite("masked_fill.Tensor", explicit=True)
def masked_fill_tensor(self: Any, mask: Any, value: Any) -> Any:
    """self (*), mask (*) of bool, broadcast, value () -> the common shape."""
    return ops.where(mask, value.to(device=self.device, dtype=self.dtype), self)


@composite("index_fill.int_Tensor", "index_fill.int_Scalar", explicit=True)
def index_fill(self: Any, dim: int, index: Any, value: Any) -> Any:
    """self (*L, N, *R), index (K,), value () or a number -> (*L, N, *R), at `dim`."""
    result = self.clone()
    target = result if self._array.ndim else result.reshape(1)
    size = target._array.shape[dim]
    for row in host_array(index).reshape(-1).tolist():
        if not -size <= row < size:
            refuse_index(row, dim % target._array.ndim, size)
        target.select(dim, row).fill_(value)
    return result


def rows_within(index: Any, count: int) -> list[int]:
    """The indices, in order, none of them outside of 0 .. count - 1."""
    rows: list[int] = host_array(index).reshape(-1).tolist()
    if rows and (min(rows) < 0 or max(rows) >= count):
        refuse_selected()
    return rows


@composite("index_select", explicit=True)
def index_select(self: Any, dim: int, index: Any) -> Any:
    """self (*L, N, *R), index (K,) -> (*L, K, *R), at `dim`."""
    if not self._array.ndim:
        rows_within(index, 1)
        return self
    return copied(self, dim, rows_within(index, self._array.shape[dim]))


def copied(self: Any, dim: int, rows: list[int]) -> Any:
    """self (*L, N, *R) -> (*L, number of rows, *R), at `dim`."""
    shape = list(self._array.shape)
    shape[dim] = len(rows)
    result = self.new_empty(shape)
    for place, row in enumerate(rows):
        result.select(dim, place).copy_(self.select(dim, row))
    return result


@composite("embedding", explicit=True)
def embedding(weight: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool, sparse: bool) -> Any:
    """weight (V, E), indices (*) -> (*, E)."""
    return ops.index_select(weight, 0, indices.reshape(-1)).view((*indices._array.shape, weight._array.shape[1]))


@composite("embedding_dense_backward", explicit=True)
def embedding_dense_backward(
    grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    """grad_output (*, E), indices (*) -> (num_weights, E): for each row, the sum of what went out of it."""
    places = host_array(indices).reshape(-1)
    grads = grad_output.reshape(places.size, grad_output._array.shape[-1])
    result = grads.new_zeros((num_weights, grads._array.shape[1]))
    for row in np.unique(places):
        if row == padding_idx:
            continue
        where = np.flatnonzero(places == row)
        summed = ops.sum(ops.cat([grads.narrow(0, int(place), 1) for place in where], 0), (0,))
        result.select(0, int(row)).copy_(ops.div(summed, where.size) if scale_grad_by_freq else summed)
    return result


@composite("gather", explicit=True)
def gather(self: Any, dim: int, index: Any, sparse_grad: bool) -> Any:
    """self (*S), index (*I) of the same rank -> (*I); I is at most S but along `dim`."""
    if not index._array.size:
        return self.new_empty(index._array.shape)
    source, where = (t if t._array.ndim else t.reshape(1) for t in (self, index))
    dim %= source._array.ndim
    size = source._array.shape[dim]
    refuse_beyond(host_array(where), dim, size)
    for d, n in enumerate(where._array.shape):
        source = source if d == dim else source.narrow(d, 0, n)
    # (*I, size): every place's candidates, of which one is meant.
    candidates = source.movedim(dim, -1).unsqueeze(dim)
    meant = ops.eq(where.unsqueeze(-1), ops.arange(size, device=self.device))
    return ops.sum(ops.where(meant, candidates, 0), (-1,)).reshape(index._array.shape)


def refuse_beyond(index: np.ndarray, dim: int, size: int) -> None:
    """Refuse what is no place along a dimension."""
    wrong = index[(index < 0) | (index >= size)]
    if wrong.size:
        refuse_picked(int(wrong.flat[0]), dim, size)
