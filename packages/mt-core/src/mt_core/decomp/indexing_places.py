"""Several indices at once, and masks, for backends that copy slices alone: they are read on the host."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..api import _functions as ops
from ..checks.indexing import refuse_looked_up, refuse_short_source
from ..construct import tensor
from ..dispatch.registry import register_composite as composite
from ..host import host_array
from ..layout import broadcast_shapes
from .indexing_rows import copied

Ints = tuple[int, ...]


class Places(NamedTuple):
    """What indices pick of a tensor (*S).

    Attributes
    ----------
    dims : tuple of int
        The dimensions that are indexed.
    rest : tuple of int
        The others.
    rows : numpy.ndarray
        (*B), like the indices broadcast: which of the rows that `dims`, counted through, make of the tensor.
    at : int
        Where B stands in the result: among the other dimensions, or before them.
    """

    dims: Ints
    rest: Ints
    rows: np.ndarray
    at: int


def _places(self: Any, indices: list[Any]) -> Places:
    named = _named(indices)
    shape, rows = self._array.shape, np.zeros((), np.int64)
    for place, (dim, index) in enumerate(named.items()):
        size = shape[dim]
        wrong = index[(index < -size) | (index >= size)]
        if wrong.size:
            refuse_looked_up(int(wrong.flat[0]), place, size)
        rows = rows * size + np.where(index < 0, index + size, index)
    dims = tuple(named)
    adjacent = dims[-1] - dims[0] + 1 == len(dims)
    rest = tuple(d for d in range(len(shape)) if d not in named)
    return Places(dims, rest, rows, dims[0] if adjacent else 0)


def _named(indices: list[Any]) -> dict[int, np.ndarray]:
    """Dimension -> its index on the host; a mask names as many as it has."""
    named: dict[int, np.ndarray] = {}
    dim = 0
    for index in indices:
        if index is None:
            dim += 1
            continue
        host = host_array(index)
        is_mask = index.dtype in (dtypes.bool, dtypes.uint8)
        if is_mask and not host.ndim:
            raise NotImplementedError("indexing by a mask without dimensions is not written in other operators")
        for part in host.nonzero() if is_mask else (host,):
            named[dim] = part
            dim += 1
    return named


@composite("index.Tensor", explicit=True)
def index(self: Any, indices: list[Any]) -> Any:
    """self (*L, *I, *R), indices (*B) broadcast -> (*L, *B, *R); (*B, *L, *R) where None stands between indices."""
    places = _places(self, indices)
    shape = self._array.shape
    rest = [shape[d] for d in places.rest]
    rows = self.permute((*places.dims, *places.rest)).reshape([math.prod(shape[d] for d in places.dims), *rest])
    made = copied(rows, 0, places.rows.reshape(-1).tolist()).view((*places.rows.shape, *rest))
    lead = range(places.rows.ndim)
    return made.movedim(tuple(lead), tuple(places.at + d for d in lead))


@composite("index_put", explicit=True)
def index_put(self: Any, indices: list[Any], values: Any, accumulate: bool) -> Any:
    """self (*), values broadcast to the shape of self[indices] -> (*); of two for one place, the last counts."""
    if len(indices) == 1 and indices[0].dtype is dtypes.bool and not values._array.ndim and not accumulate:
        mask = indices[0]
        return ops.where(mask.view(mask._array.shape + (1,) * (self._array.ndim - mask._array.ndim)), values, self)
    places = _places(self, indices)
    result = self.clone()
    for row, value in zip(_row_views(result, places), _row_values(values, result, places), strict=True):
        row.copy_(ops.add(row, value) if accumulate else value)
    return result


def _row_views(result: Any, places: Places) -> list[Any]:
    """The rows that are written, in order, as views."""
    sizes = [result._array.shape[d] for d in places.dims]
    turned = result.permute((*places.dims, *places.rest))
    views = []
    for where in zip(*np.unravel_index(places.rows.reshape(-1), sizes), strict=True):
        view = turned
        for i in where:
            view = view.select(0, int(i))
        views.append(view)
    return views


def _row_values(values: Any, result: Any, places: Places) -> tuple[Any, ...]:
    """What is written to each row."""
    rest = [result._array.shape[d] for d in places.rest]
    lead = range(places.rows.ndim)
    spread = values.expand([*rest[: places.at], *places.rows.shape, *rest[places.at :]])
    rows = spread.movedim(tuple(places.at + d for d in lead), tuple(lead)).reshape([places.rows.size, *rest])
    return rows.unbind(0) if places.rows.size else ()


@composite("masked_select", explicit=True)
def masked_select(self: Any, mask: Any) -> Any:
    """self (*), mask (*) of bool, broadcast -> (K,), K the number of true elements."""
    shape = broadcast_shapes([self._array.shape, mask._array.shape])
    chosen = np.flatnonzero(np.broadcast_to(host_array(mask), shape))
    return copied(self.expand(shape).reshape(-1), 0, chosen.tolist())


@composite("nonzero", explicit=True)
def nonzero(self: Any) -> Any:
    """self (*), of N dimensions -> (K, N), the places of what is not zero: found on the host."""
    return tensor(np.argwhere(host_array(ops.ne(self, 0))), dtype=dtypes.int64, device=self.device)


@composite("masked_scatter", explicit=True)
def masked_scatter(self: Any, mask: Any, source: Any) -> Any:
    """self (*S), mask (*) of bool, broadcast, source of as many elements as are true, or more -> the common shape."""
    shape = broadcast_shapes([self._array.shape, mask._array.shape])
    chosen = mask.expand(shape).reshape(-1)
    count = int(np.count_nonzero(host_array(chosen)))
    if count > source._array.size:
        refuse_short_source()
    given = source.reshape(-1).narrow(0, 0, count)
    return ops.index_put(self.expand(shape).reshape(-1), [chosen], given, False).view(shape)


def _within(mask: Any, indices: Any) -> list[Any]:
    """Indices, and 0 in place of those that the mask leaves out."""
    return [None if index is None else ops.where(mask, index, 0) for index in indices]


@composite("_unsafe_masked_index")
def unsafe_masked_index(self: Any, mask: Any, indices: Any, fill: Any) -> Any:
    """self (*S), mask and indices broadcast to (*I) -> self[indices]."""
    return ops.index(self, _within(mask, indices)).masked_fill(~mask, fill)


@composite("_unsafe_masked_index_put_accumulate")
def unsafe_masked_index_put_accumulate(self: Any, mask: Any, indices: Any, values: Any) -> Any:
    """self (*S), mask and indices broadcast to (*I), values (*I) -> (*S)."""
    if not self.numel():
        return self.clone()
    return ops.index_put(self, _within(mask, indices), values.masked_fill(~mask, 0), True)
