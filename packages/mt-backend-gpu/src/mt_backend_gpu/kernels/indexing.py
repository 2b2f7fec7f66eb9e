"""Indexing: CuPy wraps indices that are out of range, so they are looked at first; sums are by atomics.

Looking costs one synchronization for each call that has index tensors.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

from mt_core.checks.indexing import refuse_looked_up, refuse_short_source

from .. import namespace as np
from ..convert import cast
from ..registry import kernel
from ..shared import replace
from ..ufuncs import occurrences


def _apart(array: Any, written: Any) -> Any:
    """An array that stays as it is while another is written."""
    return array.copy() if np.may_share_memory(array, written) else array


def _add_scaled_rows(target: Any, index: Any, rows: Any, scales: Any) -> None:
    """target[index[k]] += scales[k] * rows[k] for half types: added up in float32, and rounded once."""
    wide_type = _shared._wide(target.dtype)
    wide = cast(target, wide_type)
    if np.ndim(scales):
        scales = cast(scales, wide_type).reshape(-1, *(1,) * (rows.ndim - 1))
    else:
        scales = wide_type.type(scales)
    np.add.at(wide, index, cast(rows, wide_type) * scales)
    target[...] = cast(wide, target.dtype)


def add_rows(out: Any, rows: Any, values: Any) -> None:
    """out[rows[i]] += values[i]."""
    if rows.size:
        np.add.at(out, rows, values)


_shared: Any = replace(
    "kernels.indexing", _apart=_apart, _add_scaled_rows=_add_scaled_rows, _occurrences=occurrences, add_rows=add_rows
)


def _within(self: Any, where: tuple[Any, ...]) -> bool:
    """Whether every index lies in its dimension; one synchronization."""
    beyond = [
        ((index >= self.shape[dim]) | (index < -self.shape[dim])).any()
        for dim, index in enumerate(where)
        if not isinstance(index, slice) and index.size
    ]
    return not beyond or not bool(functools.reduce(operator.or_, beyond))


def _checked(self: Any, indices: list[Any]) -> tuple[Any, ...] | None:
    """The indices as CuPy takes them; None where they are beyond dimensions beside which nothing is looked up."""
    where: tuple[Any, ...] = _shared._numpy_index(indices)
    if _within(self, where):
        return where
    if _shared._reads_nothing(self, where):
        return None
    looked_up = [(self.shape[dim], index) for dim, index in enumerate(where) if not isinstance(index, slice)]
    for place, (size, index) in enumerate(looked_up):
        wrong = index[(index >= size) | (index < -size)]
        if wrong.size:
            refuse_looked_up(int(wrong.reshape(-1)[0]), place, size)
    raise AssertionError("no index is beyond its dimension")


@kernel("index.Tensor", half="native")
def index(self: Any, indices: list[Any]) -> Any:
    """self (*L, *I, *R), indices (*B) broadcast -> (*L, *B, *R); (*B, *L, *R) where None stands between indices."""
    where = _checked(self, indices)
    if where is None:
        nowhere = [i if isinstance(i, slice) else np.zeros_like(i) for i in _shared._numpy_index(indices)]
        return self[tuple(nowhere)]
    return self[where]


@kernel("index_put", half="native")
def index_put(self: Any, indices: list[Any], values: Any, accumulate: bool) -> Any:
    """self (*), indices, values broadcast to the shape of self[indices] -> (*)."""
    return index_put_(self.copy(), indices, values, accumulate)


@kernel("index_put_", half="native")
def index_put_(self: Any, indices: list[Any], values: Any, accumulate: bool) -> Any:
    """self (*), indices, values broadcast to the shape of self[indices] -> (*); written into self."""
    if values.size == 1 and not accumulate and (mask := _shared._only_mask(indices, self.ndim)) is not None:
        value = cast(values, self.dtype).reshape(())
        self[...] = np.where(np.broadcast_to(mask, self.shape), value, self)
        return self
    where = _checked(self, indices)
    if where is None:
        return self
    if accumulate:
        _shared._add_at(self, where, values)
    else:
        self[where] = _apart(values, self)
    return self


@kernel("masked_scatter_", half="native")
def masked_scatter_(self: Any, mask: Any, source: Any) -> Any:
    """self (*), mask (*) of bool, broadcast to it, source (at least as many elements as are true) -> (*), in place."""
    mask = np.broadcast_to(mask, self.shape)
    count = int(np.count_nonzero(mask))
    if count > source.size:
        refuse_short_source()
    self[mask] = _apart(np.ascontiguousarray(source).reshape(-1)[:count], self)
    return self


@kernel("masked_scatter", half="native")
def masked_scatter(self: Any, mask: Any, source: Any) -> Any:
    """self (*), mask (*) of bool, broadcast, source (at least as many elements as are true) -> the common shape."""
    self, mask = np.broadcast_arrays(self, mask)
    return masked_scatter_(self.copy(), mask, source)
