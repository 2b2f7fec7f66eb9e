"""Indexing written in other operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..api import _functions as ops
from ..checks.indexing import class_count
from ..construct import tensor
from ..deprecation import warn_once
from ..dispatch.memory import overlaps_itself
from ..dispatch.registry import overload
from ..dispatch.registry import register_composite as composite
from ..errors import NoElements, no_memory
from ..formats import contiguous_format
from ..hollow import has_elements
from ..host import host_array
from ..layout import broadcast_shapes
from ..python_dispatch import dispatches
from ..tensor import wrap_dim

Ints = tuple[int, ...]


@composite("take_along_dim")
def take_along_dim(self: Any, indices: Any, dim: int | None) -> Any:
    """self (*), indices (*), broadcast but along `dim` -> shape of indices; without `dim`, of the flattened self."""
    if dim is None:
        return self.view(-1).gather(0, indices.view(-1))
    if self.dim() != indices.dim():
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{self.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    if indices.dtype is not dtypes.int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {dtypes.scalar_type_name(indices.dtype)}"
        )
    if self.dim():
        size = self.size(dim)
        indices = indices.remainder(size)
    at = dim % self.dim() if -self.dim() <= dim < self.dim() else self.size(dim if self.dim() else 0)
    a, b = list(self.shape), list(indices.shape)
    a[at] = b[at] = 1
    common = broadcast_shapes([tuple(a), tuple(b)])
    wide = (*common[:at], self.shape[at], *common[at + 1 :])
    narrow = (*common[:at], indices.shape[at], *common[at + 1 :])
    return self.broadcast_to(wide).gather(at, indices.broadcast_to(narrow))


_SCATTER_NAMES = {"add": "sum", "multiply": "prod"}


def _reduction_of(reduce: str) -> str:
    if reduce not in _SCATTER_NAMES:
        raise RuntimeError("reduce argument must be either add or multiply.")
    return _SCATTER_NAMES[reduce]


@composite("scatter.reduce", explicit=True)
def scatter_reduce(self: Any, dim: int, index: Any, src: Any, reduce: str) -> Any:
    warn_once(
        "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future PyTorch "
        "release. Use torch.scatter_reduce instead for more reduction options."
    )
    return ops.scatter_reduce(self, dim, index, src, _reduction_of(reduce))


@composite("scatter.value_reduce", explicit=True)
def scatter_value_reduce(self: Any, dim: int, index: Any, value: Any, reduce: str) -> Any:
    src = self.new_full(tuple(index.shape), value)
    return ops.scatter_reduce(self, dim, index, src, _reduction_of(reduce))


@composite("argwhere")
def argwhere(self: Any) -> Any:
    """self (*S) -> (K, len(S)) of int64, K the number of nonzero elements."""
    return self.nonzero()


@composite("one_hot")
def one_hot(self: Any, num_classes: int) -> Any:
    """self (*) of int64 -> (*, num_classes)."""
    if self.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not self.numel():
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return self.new_empty((*self.shape, num_classes))
    if self.is_meta and num_classes == -1:
        raise NoElements("one_hot on the meta device needs num_classes: the greatest class depends on data")
    known = num_classes != -1 and not has_elements(self)
    classes = num_classes if known else class_count(int(self.min()), int(self.max()), num_classes)
    return self.new_zeros((*self.shape, classes)).scatter_(-1, self.unsqueeze(-1), 1)


def _copy_on_its_storage(self: Any) -> Any:
    """A copy of a tensor that lies in a copy of its storage as the tensor lies in it, but for what meets in memory."""
    offset, strides = self.storage_offset(), self.stride()
    if not self.numel() or self.is_contiguous() and not offset or overlaps_itself(self):
        return self.clone()
    count = self.untyped_storage().nbytes() // self.element_size()
    return self.as_strided((count,), (1,), 0).clone().as_strided(self.shape, strides, offset).data


def _scattered(self: Any, src: Any, window: Any, name: str) -> Any:
    """A copy of self with `src` in one window of it."""
    whole = _copy_on_its_storage(self)
    part = window(whole)
    if part.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(part.shape)}"
        )
    part.copy_(src)
    return whole


@composite("select_scatter", explicit=True)
def select_scatter(self: Any, src: Any, dim: int, index: int) -> Any:
    """self (*L, N, *R), src (*L, *R) -> like self, at `dim`."""
    return _scattered(self, src, lambda whole: whole.select(dim, index), "select_scatter")


@composite("slice_scatter", explicit=True)
def slice_scatter(self: Any, src: Any, dim: int, start: int | None, end: int | None, step: int) -> Any:
    """self (*L, N, *R), src (*L, K, *R) -> like self; K the length of the slice of `dim`."""
    return _scattered(self, src, lambda whole: ops.slice(whole, dim, start, end, step), "slice_scatter")


@composite("diagonal_scatter", explicit=True)
def diagonal_scatter(self: Any, src: Any, offset: int, dim1: int, dim2: int) -> Any:
    """self (*S), src (*, K) -> like self; K the length of the diagonal."""
    return _scattered(self, src, lambda whole: whole.diagonal(offset, dim1, dim2), "diagonal_scatter")


@composite("as_strided_scatter", explicit=True)
def as_strided_scatter(self: Any, src: Any, size: Ints, stride: Ints, storage_offset: int | None) -> Any:
    """The window is one of the whole storage, of which the result is a copy."""
    if self.requires_grad and not self.is_contiguous():
        raise RuntimeError("as_strided_scatter: a tensor that requires grad must be contiguous")
    if not self.storage_offset() and self.is_contiguous():
        return _scattered(self, src, lambda whole: whole.as_strided(size, stride, storage_offset), "as_strided_scatter")
    count = self.untyped_storage().nbytes() // self.element_size()
    start = self.storage_offset() if storage_offset is None else storage_offset
    block = self.as_strided((count,), (1,), 0)
    written = _scattered(block, src, lambda whole: whole.as_strided(size, stride, start), "as_strided_scatter")
    return written.as_strided(self.shape, self.stride(), self.storage_offset())


@composite("repeat_interleave.Tensor")
def repeats_to_indices(repeats: Any, output_size: int | None) -> Any:
    """repeats (N,) -> (sum of repeats,): each i, as often as repeats[i] says."""
    if repeats.dim() != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError("repeats has to be Long or Int tensor")
    if repeats.is_meta and output_size is not None:
        return ops.empty((output_size,), dtype=repeats.dtype, device=repeats.device)
    counts = host_array(repeats)
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    if (
        output_size is not None
        and ops.empty((output_size,), dtype=repeats.dtype, device=repeats.device).numel() != counts.sum()
    ):
        raise RuntimeError("allocated size does not match required size")
    try:
        places = np.repeat(np.arange(counts.size), counts)
    except MemoryError as error:
        raise no_memory(error) from None
    return tensor(places, dtype=repeats.dtype, device=repeats.device)


_repeats_to_indices = overload("repeat_interleave.Tensor", "indexing")


@composite("repeat_interleave.self_Tensor")
def repeat_interleave(self: Any, repeats: Any, dim: int | None, output_size: int | None) -> Any:
    """self (*L, N, *R), repeats (N,) or () -> (*L, sum of repeats, *R), at `dim`, or of the flattened self."""
    if dim is None:
        self, dim = self.reshape(-1), 0
    size = self.size(dim)
    if repeats.dim() == 0 or repeats.dim() == 1 and repeats.shape[0] == 1:
        repeats = repeats.reshape(1).expand((size,))
    elif repeats.dim() != 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    elif repeats.shape[0] != size:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {repeats.shape[0]} and "
            f"input.size({dim}) = {size}"
        )
    to_indices = _repeats_to_indices.call if dispatches(repeats) else repeats_to_indices
    return self.index_select(dim, to_indices(repeats, output_size))


@composite("repeat_interleave.self_int")
def repeat_interleave_int(self: Any, repeats: int, dim: int | None, output_size: int | None) -> Any:
    """self (*L, N, *R) -> (*L, N repeats, *R), at `dim`, or of the flattened self."""
    if dim is None:
        self, dim = self.reshape(-1), 0
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    size = self.size(dim) if self.dim() else 1
    if output_size is not None and output_size != size * repeats:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {size * repeats} but got {output_size}")
    at = wrap_dim(dim, self.dim())
    wide = self.unsqueeze(at + 1)
    wide = wide.expand((*wide.shape[: at + 1], repeats, *wide.shape[at + 2 :]))
    return wide.clone(memory_format=contiguous_format).flatten(at, at + 1)


@composite("nonzero_static")
def nonzero_static(self: Any, size: int, fill_value: int) -> Any:
    """self (*S) -> (size, len(S)) of int64, cut off or filled up with `fill_value`."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    if self.is_meta:
        return ops.empty((size, self.dim()), dtype=dtypes.int64, device=self.device)
    found = self.nonzero()
    count = found.shape[0]
    if count >= size:
        return found.narrow(0, 0, size).clone(memory_format=contiguous_format)
    return ops.cat([found, found.new_full((size - count, self.dim()), fill_value)], 0)
