"""Indexing along a dimension by the native library, which does nothing where an index is out of range.

What it does not do goes on to NumPy's kernels, which say what is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import bfloat16, float16, float32, float64, int8, int16, int32, int64, uint8
from mt_core.dtypes import bool as bool_dtype

from ..kernels import indexing as on_numpy
from ..registry import kernel
from . import library
from .view import row_by_row

Array = np.ndarray

if library is not None:
    _index_add, _scatter_add, _take_rows = library.index_add, library.scatter_add, library.take_rows
    _gather, _scatter = library.gather, library.scatter

    _INDEX, _SINGLE = frozenset((int64,)), frozenset((float32,))
    #: What is only moved.
    _MOVED = frozenset((bfloat16, bool_dtype, float16, float32, float64, int8, int16, int32, int64, uint8))

    def _has_dimensions(self: Any, *rest: Any) -> Any:
        return self._array.ndim > 0

    def _match(self: Any, dim: int, index: Any, src: Any, *rest: Any) -> Any:
        rank = self._array.ndim
        return rank > 0 and src._dtype is self._dtype and index._array.ndim == src._array.ndim == rank

    def _accepts(dtypes: Any, also: Any, index: str = "index", **named: Any) -> Accepts:
        return Accepts(dtypes={"self": dtypes, index: _INDEX, **named}, layout="row_major", also=also)

    def _may_share(self: Array, *others: Array) -> Any:
        return any(np.may_share_memory(self, other) for other in others)

    @kernel("index_add_", half="native", accepts=_accepts(_SINGLE, _has_dimensions, source=_SINGLE))
    def index_add_(self: Array, dim: int, index: Array, source: Array, alpha: Any) -> Array:
        """self (*L, N, *R), index (K,), source (*L, K, *R) -> (*L, N, *R), at `dim`; written into self."""
        if (
            not self.size or not source.ndim or _may_share(self, index, source)
            or not _index_add(self, dim % self.ndim, index, source, alpha, -1)
        ):  # fmt: skip
            return on_numpy.index_add_(self, dim, index, source, alpha)
        return self

    @kernel("index_add", half="native", accepts=_accepts(_SINGLE, _has_dimensions, source=_SINGLE))
    def index_add(self: Array, dim: int, index: Array, source: Array, alpha: Any) -> Array:
        """self (*L, N, *R), index (K,), source (*L, K, *R) -> (*L, N, *R), at `dim`."""
        return index_add_(self.copy(), dim, index, source, alpha)

    def _adds_rows(self: Any, indices: Any, values: Any, accumulate: bool) -> Any:
        """Whether one tensor of int64 says where along a dimension something is added."""
        given = [index for index in indices if index is not None]
        return accumulate and len(given) == 1 and given[0]._dtype is int64 and self._array.size > 0

    _ADDED = Accepts(dtypes={"self": _SINGLE, "values": _SINGLE}, also=_adds_rows)

    @kernel("index_put_", half="native", accepts=_ADDED)
    def index_put_(self: Array, indices: list[Any], values: Array, accumulate: bool) -> Array:
        """self (*L, N, *R), one index (*K) behind None for each of L, values to (*L, *K, *R) -> (*L, N, *R): self."""
        dim = next(i for i, index in enumerate(indices) if index is not None)
        index, size = indices[dim], self.shape[dim]
        shape = self.shape[:dim] + index.shape + self.shape[dim + 1 :]
        if self.flags.c_contiguous and index.size and not _may_share(self, index, values):
            places = index.reshape(-1)
            rows = np.broadcast_to(values, shape).reshape(*self.shape[:dim], places.size, *self.shape[dim + 1 :])
            if places.min() < 0:
                places = np.where(places < 0, places + size, places)
            if _index_add(self, dim, row_by_row(places), row_by_row(rows), 1.0, -1):
                return self
        return on_numpy.index_put_(self, indices, values, accumulate)

    _place = library.place

    def _replaces(self: Any, indices: Any, values: Any, accumulate: bool) -> bool:
        return not accumulate

    @kernel("index_put_", half="native", accepts=Accepts(also=_replaces))
    def index_replace_(self: Array, indices: list[Any], values: Array, accumulate: bool) -> Array:
        """self (*), indices, values broadcast to the shape of self[indices] -> self, written into."""
        if _place(self, indices, values):
            return self
        return on_numpy.index_put_(self, indices, values, accumulate)

    @kernel("index_put", half="native", accepts=_ADDED)
    def index_put(self: Array, indices: list[Any], values: Array, accumulate: bool) -> Array:
        """self (*L, N, *R), one index (*K) behind None for each of L, values to (*L, *K, *R) -> (*L, N, *R)."""
        return index_put_(self.copy(), indices, values, accumulate)

    def _uncounted(grad_output: Any, indices: Any, num_weights: int, padding_idx: int, by_frequency: bool) -> Any:
        return not by_frequency

    @kernel(
        "embedding_dense_backward", half="native",
        accepts=Accepts(dtypes={"grad_output": _SINGLE, "indices": _INDEX}, also=_uncounted),
    )  # fmt: skip
    def embedding_dense_backward(
        grad_output: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
    ) -> Array:
        """grad_output (*, E), indices (*) -> (num_weights, E)."""
        made = np.zeros((num_weights, grad_output.shape[-1]), np.float32)
        grads, rows = np.ascontiguousarray(grad_output), np.ascontiguousarray(indices)
        if not _index_add(made, 0, rows, grads, 1.0, max(padding_idx, -1)):
            return on_numpy.embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq)
        return made

    @kernel("scatter_add_", half="native", accepts=_accepts(_SINGLE, _match))
    def scatter_add_(self: Array, dim: int, index: Array, src: Array) -> Array:
        """self (*S), index (*I), src (at least I), of one rank -> self, written into; I within S but along `dim`."""
        if (
            not index.size or _may_share(self, index, src)
            or not _scatter_add(self, dim % self.ndim, index, src)
        ):  # fmt: skip
            return on_numpy.scatter_add_(self, dim, index, src)
        return self

    @kernel("scatter_add", half="native", accepts=_accepts(_SINGLE, _match))
    def scatter_add(self: Array, dim: int, index: Array, src: Array) -> Array:
        """self (*S), index (*I), src (at least I), of one rank -> (*S); I is at most S but along `dim`."""
        return scatter_add_(self.copy(), dim, index, src)

    @kernel("scatter_.src", half="native", accepts=_accepts(_MOVED, _match))
    def scatter_(self: Array, dim: int, index: Array, src: Array) -> Array:
        """self (*S), index (*I), src (at least I), of one rank -> self, written into; I within S but along `dim`."""
        if not index.size or _may_share(self, index, src) or not _scatter(self, dim % self.ndim, index, src):
            return on_numpy.scatter_(self, dim, index, src)
        return self

    @kernel("scatter.src", half="native", accepts=_accepts(_MOVED, _match))
    def scatter(self: Array, dim: int, index: Array, src: Array) -> Array:
        """self (*S), index (*I), src (at least I), of one rank -> (*S); I is at most S but along `dim`."""
        return scatter_(self.copy(), dim, index, src)

    @kernel("scatter_.value", half="native", accepts=_accepts(_MOVED, _has_dimensions))
    def scatter_value_(self: Array, dim: int, index: Array, value: Any) -> Array:
        """self (*S), index (*I) of the same rank -> self, written into; I is at most S but along `dim`."""
        number = np.asarray(on_numpy.number_of(value, self.dtype), self.dtype)
        if (
            not index.size or index.ndim != self.ndim or _may_share(self, index)
            or not _scatter(self, dim % self.ndim, index, number)
        ):  # fmt: skip
            return on_numpy.scatter_value_(self, dim, index, value)
        return self

    @kernel("scatter.value", half="native", accepts=_accepts(_MOVED, _has_dimensions))
    def scatter_value(self: Array, dim: int, index: Array, value: Any) -> Array:
        """self (*S), index (*I) of the same rank -> (*S); I is at most S but along `dim`."""
        return scatter_value_(self.copy(), dim, index, value)

    @kernel("gather", half="native", accepts=_accepts(_MOVED, _has_dimensions))
    def gather(self: Array, dim: int, index: Array, sparse_grad: Any) -> Array:
        """self (*S), index (*I) of the same rank -> (*I); I is at most S but along `dim`."""
        made: Array | None = None
        if index.size and index.ndim == self.ndim:
            made = _gather(self, dim % self.ndim, index)
        return on_numpy.gather(self, dim, index, sparse_grad) if made is None else made

    @kernel("index_select", half="native", accepts=_accepts(_MOVED, _has_dimensions))
    def index_select(self: Array, dim: int, index: Array) -> Array:
        """self (*L, N, *R), index (K,) -> (*L, K, *R), at `dim`."""
        made: Array | None = _take_rows(self, dim % self.ndim, index.reshape(-1))
        return on_numpy.index_select(self, dim, index) if made is None else made

    _nonzero, _choose = library.nonzero, library.choose

    @kernel("nonzero", half="native")
    def nonzero(self: Array) -> Array:
        """self (*S) -> (K, len(S)) of int64, K the number of nonzero elements."""
        places: Array | None = _nonzero(self)
        return on_numpy.nonzero(self) if places is None else places

    @kernel("masked_select", half="native", accepts=Accepts(layout="row_major"))
    def masked_select(self: Array, mask: Array) -> Array:
        """self (*), mask (*) of bool, broadcast -> (K,), K the number of true elements."""
        made: Array | None = _choose(self, mask) if self.shape == mask.shape else None
        return on_numpy.masked_select(self, mask) if made is None else made

    def _is_mask(self: Any, indices: Any) -> Any:
        return len(indices) == 1 and indices[0] is not None and indices[0]._dtype is bool_dtype

    @kernel("index.Tensor", half="native", accepts=Accepts(layout="row_major", also=_is_mask))
    def index_by_mask(self: Array, indices: list[Any]) -> Array:
        """self (*M, *R), one mask (*M) of bool -> (K, *R), K the number of true elements."""
        made: Array | None = _choose(self, indices[0])
        return on_numpy.index(self, indices) if made is None else made

    _where = library.where

    @kernel("masked_fill.Scalar", accepts=Accepts(dtypes={"self": _SINGLE}, layout="row_major"))
    def masked_fill(self: Array, mask: Array, value: Any) -> Array:
        """self (*), mask (*) of bool, broadcast -> the common shape."""
        made = _where(mask, float(value), self) if value.__class__ in (float, int) else None
        return on_numpy.masked_fill(self, mask, value) if made is None else made
