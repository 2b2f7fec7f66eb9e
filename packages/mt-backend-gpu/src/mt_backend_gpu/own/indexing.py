"""Reading and writing by index tensors in one launch each; indices are checked on the device (`compiled.faults`)."""

from __future__ import annotations

from typing import Any

import cupy
import numpy

from mt_core import dtypes
from mt_core.dispatch.kernel import Accepts

from ..compiled import indexing
from ..compiled.elementwise import pointwise
from ..compiled.faults import ROWS_SITE
from ..compiled.on_cupy import FLOATING, compiled, fits, machine, row_major

_INTEGERS = frozenset((dtypes.int64, dtypes.int32, dtypes.int16, dtypes.int8, dtypes.uint8, dtypes.bool))
#: What is moved, and what is added up by atomics.
_MOVED, _SUMMED = FLOATING | _INTEGERS, FLOATING | {dtypes.int64, dtypes.int32}
_INDEX = frozenset((dtypes.int64, dtypes.int32))
_HALVES = frozenset(("float16", "bfloat16"))
#: Less than any index.
_NO_PADDING = -(1 << 63)


def _table(weight: Any, indices: Any, *rest: Any) -> bool:
    return weight._array.ndim == 2 and weight._array.size > 0


@compiled("embedding", accepts=Accepts(dtypes={"weight": _MOVED, "indices": _INDEX}, also=_table))
def embedding(weight: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool, sparse: bool) -> Any:
    """weight (V, E), indices (*) -> (*, E)."""
    return indexing.take_rows(machine(), row_major(weight), row_major(indices))


def _unscaled(grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool) -> bool:
    return not scale_grad_by_freq and num_weights > 0


@compiled(
    "embedding_dense_backward",
    accepts=Accepts(dtypes={"grad_output": FLOATING, "indices": _INDEX}, also=_unscaled),
)
def embedding_dense_backward(
    grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    """grad_output (*, E), indices (*) -> (num_weights, E); halves are added up in float32 and rounded once."""
    kind = grad_output.dtype
    wide = numpy.dtype(numpy.float32) if kind.name in _HALVES else kind
    table = machine().zeros((num_weights, grad_output.shape[-1]), wide)
    padding = padding_idx if padding_idx >= 0 else _NO_PADDING
    indexing.add_rows(machine(), row_major(grad_output), row_major(indices), table, padding)
    return table if wide is kind else pointwise(machine(), "copy", table, result=kind)


def _selectable(self: Any, dim: int, index: Any) -> bool:
    return self._array.ndim > 0 and self._array.size > 0 and index._array.ndim == 1 and fits(self)


@compiled("index_select", accepts=Accepts(dtypes={"self": _MOVED, "index": _INDEX}, also=_selectable))
def index_select(self: Any, dim: int, index: Any) -> Any:
    """self (*L, N, *R), index (K,) -> (*L, K, *R), at `dim`."""
    dim %= self.ndim
    if not dim and self.flags.c_contiguous:
        return indexing.take_rows(machine(), self, row_major(index))
    shape = (*self.shape[:dim], index.shape[0], *self.shape[dim + 1 :])
    along = [0] * self.ndim
    along[dim] = index.strides[0]
    return indexing.gather(machine(), self, dim, cupy.ndarray(shape, index.dtype, index.data, tuple(along)))


def _gatherable(self: Any, dim: int, index: Any, *rest: Any) -> bool:
    return self._array.ndim == index._array.ndim and fits(self, index)


@compiled("gather", accepts=Accepts(dtypes={"self": _MOVED, "index": _INDEX}, also=_gatherable))
def gather(self: Any, dim: int, index: Any, sparse_grad: bool) -> Any:
    """self (*S), index (*I) of the same rank -> (*I); I is at most S but along `dim`."""
    return indexing.gather(machine(), self, dim, index)


def apart(array: Any, written: Any) -> Any:
    """An array that stays as it is while another is written."""
    return array.copy() if cupy.may_share_memory(array, written) else array


def scattering(name: str, summed: bool) -> None:
    """Enter ``name.src`` and ``name_.src``, or the sums, whose overloads have no name."""
    suffix = "" if summed else ".src"
    accepts = Accepts(
        dtypes={"self": _SUMMED if summed else _MOVED, "src": _SUMMED if summed else _MOVED, "index": _INDEX},
        also=lambda self, dim, index, src: _gatherable(self, dim, index) and src._array.ndim == self._array.ndim
        and src._dtype is self._dtype,
    )  # fmt: skip

    @compiled(f"{name}_{suffix}", accepts=accepts)
    def into(self: Any, dim: int, index: Any, src: Any) -> Any:
        """self (*S), index (*I), src (at least I), of one rank -> self, written into."""
        return indexing.scatter(machine(), self, dim, apart(index, self), apart(src, self), add=summed)

    @compiled(f"{name}{suffix}", accepts=accepts)
    def fresh(self: Any, dim: int, index: Any, src: Any) -> Any:
        """self (*S), index (*I), src (at least I), of one rank -> (*S)."""
        return indexing.scatter(machine(), self.copy(), dim, index, src, add=summed)


scattering("scatter", False)
scattering("scatter_add", True)


def _addable(self: Any, dim: int, index: Any, source: Any, alpha: Any) -> bool:
    return source._dtype is self._dtype and self._array.ndim == source._array.ndim > 0 and fits(self, index, source)


_OF_ROWS = Accepts(dtypes={"self": _SUMMED, "index": _INDEX}, defaults=("alpha",), also=_addable)


def expanded(index: Any, dim: int, source: Any) -> Any:
    """index (K,) or () as an array like source (*L, K, *R), which it numbers along `dim`."""
    along = [0] * source.ndim
    along[dim] = index.strides[0] if index.ndim else 0
    return cupy.ndarray(source.shape, index.dtype, index.data, tuple(along))


@compiled("index_add_", accepts=_OF_ROWS)
def index_add_(self: Any, dim: int, index: Any, source: Any) -> Any:
    """self (*L, N, *R), index (K,), source (*L, K, *R) -> self, written into, at `dim`."""
    dim %= self.ndim
    index = expanded(apart(index, self), dim, source)
    return indexing.scatter(machine(), self, dim, index, apart(source, self), add=True, site=ROWS_SITE)


@compiled("index_add", accepts=_OF_ROWS)
def index_add(self: Any, dim: int, index: Any, source: Any) -> Any:
    """self (*L, N, *R), index (K,), source (*L, K, *R) -> like self, at `dim`."""
    dim %= self.ndim
    into = self.copy()
    return indexing.scatter(machine(), into, dim, expanded(index, dim, source), source, add=True, site=ROWS_SITE)


_OF_NUMBER = Accepts(dtypes={"self": FLOATING, "index": _INDEX}, also=_gatherable)


@compiled("scatter_.value", accepts=_OF_NUMBER)
def scatter_value_(self: Any, dim: int, index: Any, value: Any) -> Any:
    """self (*S), index (*I) of the same rank -> (*S); written into self."""
    return indexing.scatter_value(machine(), self, dim, apart(index, self), float(value))


@compiled("scatter.value", accepts=_OF_NUMBER)
def scatter_value(self: Any, dim: int, index: Any, value: Any) -> Any:
    """self (*S), index (*I) of the same rank -> (*S)."""
    return indexing.scatter_value(machine(), self.copy(), dim, index, float(value))


def _by_tensors(self: Any, indices: Any, *rest: Any) -> bool:
    """Whether there are one to four integer tensors, along dimensions that have elements."""
    shape, count = self._array.shape, 0
    for size, index in zip(shape, indices, strict=False):
        if index is not None:
            count += 1
            if index._dtype is not dtypes.int64 or not size or not fits(index):
                return False
    return 1 <= count <= indexing.MAX_INDICES and len(indices) <= len(shape) and fits(self)


@compiled("index.Tensor", accepts=Accepts(dtypes={"self": _MOVED}, also=_by_tensors))
def index(self: Any, indices: list[Any]) -> Any:
    """self (*L, *I, *R), indices (*B) broadcast -> (*L, *B, *R); (*B, *L, *R) where None stands between indices."""
    return indexing.index_get(machine(), self, indices)


def _put(dtypes_: Any, accumulated: bool) -> Accepts:
    return Accepts(
        dtypes={"self": dtypes_},
        also=lambda self, indices, values, accumulate: accumulate is accumulated and values._dtype is self._dtype
        and _by_tensors(self, indices) and fits(values),
    )  # fmt: skip


def putting(accepts: Accepts, accumulated: bool) -> None:
    """Enter index_put and its form in place, which write or add."""

    @compiled("index_put_", accepts=accepts)
    def into(self: Any, indices: list[Any], values: Any, accumulate: bool) -> Any:
        """self (*), indices, values broadcast to the shape of self[indices] -> (*); written into self."""
        indices = [None if one is None else apart(one, self) for one in indices]
        return indexing.index_put(machine(), self, indices, apart(values, self), add=accumulated)

    @compiled("index_put", accepts=accepts)
    def fresh(self: Any, indices: list[Any], values: Any, accumulate: bool) -> Any:
        """self (*), indices, values broadcast to the shape of self[indices] -> (*)."""
        return indexing.index_put(machine(), self.copy(), indices, values, add=accumulated)


putting(_put(_MOVED, False), False)
putting(_put(_SUMMED, True), True)
