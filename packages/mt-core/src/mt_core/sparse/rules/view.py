"""Other dimensions: what permutes, adds, picks and joins them. The results share values where PyTorch's do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...api import _functions as ops
from ...decomp import _compressed
from ...dispatch.registry import find_overload
from ...errors import no_kernel
from ...formats import sparse_csc, sparse_csr
from ...tensor import Tensor, wrap_dim
from ..layer import parts, rule
from ..tensors import Compressed, compressed, coordinates, is_coo


def _refuse_compressed(name: str, tensor: Any) -> Any:
    array = tensor._array
    if isinstance(array, Compressed):
        raise RuntimeError(f"{name} is not implemented for tensors of layout {array.layout!r}")
    return array


@rule("permute")
def permute(self: Any, dims: Sequence[int]) -> Tensor:
    """Sparse dimensions among themselves, dense ones among themselves."""
    if isinstance(self._array, Compressed):
        return _transposed(self, *_two_that_swap(dims, self.dim()))
    array = self._array
    n, wrapped = array.sparse_dim, [wrap_dim(dim, self.dim()) for dim in dims]
    if len(wrapped) != self.dim():
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {self.dim()} is not equal to len(dims) = {len(wrapped)}"
        )
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    if wrapped == list(range(len(wrapped))):
        return coordinates(array.indices, array.values, array.shape, array.is_coalesced)
    front, back = wrapped[:n], wrapped[n:]
    if any(dim >= n for dim in front) or any(dim < n for dim in back):
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed."
            "Only transpositions within sparse and dense dimensions are supported."
        )
    indices = array.indices.index_select(0, array.indices.new_tensor(front)) if front else array.indices
    values = array.values.permute(0, *[dim - n + 1 for dim in back])
    still_sorted = array.is_coalesced and front == sorted(front)
    return coordinates(indices, values, [array.shape[dim] for dim in wrapped], still_sorted)


def _two_that_swap(dims: Sequence[int], n: int) -> tuple[int, int]:
    moved = [i for i, dim in enumerate(dims) if wrap_dim(dim, n) != i]
    if len(moved) != 2:
        raise RuntimeError("permute of compressed tensors exchanges rows and columns and nothing else")
    return moved[0], moved[1]


@rule("transpose.int")
def transpose(self: Any, dim0: int, dim1: int) -> Tensor:
    a, b = wrap_dim(dim0, self.dim()), wrap_dim(dim1, self.dim())
    if isinstance(self._array, Compressed):
        return _transposed(self, a, b)
    dims = list(range(self.dim()))
    dims[a], dims[b] = b, a
    return permute(self, dims)


def _transposed(self: Any, a: int, b: int) -> Tensor:
    """Rows become columns: the other layout, of the same parts."""
    array = self._array
    if a == b:
        return compressed(array.pointers, array.plain, array.values, array.shape, array.layout)
    first = array.batch_dim
    if {a, b} != {first, first + 1}:
        raise RuntimeError("transpose of compressed tensors exchanges rows and columns and nothing else")
    shape = list(array.shape)
    shape[a], shape[b] = shape[b], shape[a]
    other = sparse_csc if array.layout is sparse_csr else sparse_csr
    return compressed(array.pointers, array.plain, array.values, shape, other)


@rule("t")
def t(self: Any) -> Tensor:
    if self.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {self.dim()} dims")
    return transpose(self, 0, self.dim() - 1) if self.dim() == 2 else self.detach()


@rule("unsqueeze")
def unsqueeze(self: Any, dim: int) -> Tensor:
    array = _refuse_compressed("unsqueeze", self)
    n, at = array.sparse_dim, wrap_dim(dim, self.dim() + 1)
    shape = [*array.shape[:at], 1, *array.shape[at:]]
    if at > n:
        return coordinates(array.indices, array.values.unsqueeze(at - n + 1), shape, array.is_coalesced)
    zeros = array.indices.new_zeros((1, array.indices.shape[1]))
    indices = ops.cat([array.indices[:at], zeros, array.indices[at:]])
    return coordinates(indices, array.values, shape, array.is_coalesced)


@rule("select.int")
def select(self: Any, dim: int, index: int) -> Tensor:
    """One place of a dimension; where no sparse dimension is left, an ordinary tensor."""
    at = wrap_dim(dim, self.dim())
    length = self.shape[at]
    if not -length <= index < length:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {at}"
        )
    place = index + length if index < 0 else index
    if isinstance(self._array, Compressed):
        return select(_compressed.to_coordinates(self._array), at, place)
    array = self._array
    n = array.sparse_dim
    shape = [*array.shape[:at], *array.shape[at + 1 :]]
    if at >= n:
        return coordinates(array.indices, array.values.select(at - n + 1, place), shape, array.is_coalesced)
    kept = ops.nonzero(array.indices[at] == place).reshape(-1)
    values = array.values.index_select(0, kept)
    if n == 1:
        return values.sum(0, dtype=values.dtype)
    indices = array.indices.index_select(1, kept)
    return coordinates(ops.cat([indices[:at], indices[at + 1 :]]), values, shape, array.is_coalesced)


@rule("narrow_copy")
def narrow_copy(self: Any, dim: int, start: int, length: int) -> Tensor:
    array = _refuse_compressed("narrow_copy", self)
    at = wrap_dim(dim, self.dim())
    size = array.shape[at]
    begin = start + size if start < 0 else start
    if begin < 0 or length < 0 or begin + length > size:
        raise RuntimeError(f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, {size}).")
    shape = [*array.shape[:at], length, *array.shape[at + 1 :]]
    n = array.sparse_dim
    if at >= n:
        values = array.values.narrow_copy(at - n + 1, begin, length)
        return coordinates(array.indices, values, shape, array.is_coalesced)
    row = array.indices[at]
    kept = ops.nonzero((row >= begin) & (row < begin + length)).reshape(-1)
    indices = array.indices.index_select(1, kept)
    indices[at] -= begin
    return coordinates(indices, array.values.index_select(0, kept), shape, array.is_coalesced)


@rule("index_select")
def index_select(self: Any, dim: int, index: Tensor) -> Tensor:
    """The places of a dimension that an index tensor names, in its order; coordinates come sorted by it."""
    array = _refuse_compressed("index_select", self)
    at = wrap_dim(dim, self.dim())
    size, n = array.shape[at], array.sparse_dim
    if index.dim() != 1:
        raise IndexError("index_select() argument index must be 1-D long-tensor.")
    if index.numel() and (int(index.min()) < -size or int(index.max()) >= size):
        raise IndexError(
            f"index_select(): index contains {int(index.max())} that is out of range for tensor of size "
            f"{list(array.shape)} at dimension {at}"
        )
    wanted = ops.where(index < 0, index + size, index)
    shape = [*array.shape[:at], int(wanted.numel()), *array.shape[at + 1 :]]
    if at >= n:
        values = array.values.index_select(at - n + 1, wanted)
        return coordinates(array.indices, values, shape, array.is_coalesced)
    row = array.indices[at]
    order = row.argsort(stable=True)
    ordered = row.index_select(0, order)
    first = ops.searchsorted(ordered, wanted)
    counts = ops.searchsorted(ordered, wanted, right=True) - first
    total = int(counts.sum())
    place = ops.arange(int(wanted.numel()), device=wanted.device).repeat_interleave(counts)
    begins = counts.cumsum(0) - counts
    within = ops.arange(total, device=wanted.device) - begins.index_select(0, place)
    taken = order.index_select(0, first.index_select(0, place) + within)
    indices = array.indices.index_select(1, taken)
    indices[at] = place
    made = coordinates(indices, array.values.index_select(0, taken), shape)
    return made


@rule("cat")
def cat(tensors: Sequence[Any], dim: int) -> Tensor:
    """Sparse tensors along a sparse or a dense dimension."""
    if not all(is_coo(tensor) for tensor in tensors):
        raise RuntimeError("Expected all tensors to be sparse (COO), but some are of another layout")
    arrays = [tensor._array for tensor in tensors]
    first = arrays[0]
    at, n = wrap_dim(dim, len(first.shape)), first.sparse_dim
    for place, array in enumerate(arrays[1:], 1):
        if array.sparse_dim != n or array.dense_dim != first.dense_dim:
            raise RuntimeError(
                f"All tensors must have the same sparse_dim and dense_dim: {n}, {first.dense_dim}, but tensor at "
                f"position {place} has {array.sparse_dim}, {array.dense_dim}."
            )
        if [s for i, s in enumerate(array.shape) if i != at] != [s for i, s in enumerate(first.shape) if i != at]:
            raise RuntimeError(
                "All tensors must have the same shape except in the dimension of concatenation: "
                f"{list(first.shape)} (tensor 0) and {list(array.shape)} (tensor {place})"
            )
    shape = list(first.shape)
    shape[at] = sum(array.shape[at] for array in arrays)
    if at < n:
        moved, before = [], 0
        for array in arrays:
            indices = array.indices.clone()
            indices[at] += before
            before += array.shape[at]
            moved.append(indices)
        return coordinates(ops.cat(moved, 1), ops.cat([array.values for array in arrays]), shape)
    before, filled = 0, []
    for array in arrays:
        block = [array.nnz, *shape[n:]]
        values = array.values.new_zeros(block)
        values.narrow(at - n + 1, before, array.shape[at]).copy_(array.values)
        before += array.shape[at]
        filled.append(values)
    return coordinates(ops.cat([array.indices for array in arrays], 1), ops.cat(filled), shape)


@parts("stack")
def stack(tensors: Sequence[Any], dim: int) -> Tensor:
    at = wrap_dim(dim, tensors[0].dim() + 1)
    return find_overload("cat").call([tensor.unsqueeze(at) for tensor in tensors], at)  # type: ignore[no-any-return]


@parts("unbind.int")
def unbind(self: Any, dim: int) -> tuple[Any, ...]:
    at = wrap_dim(dim, self.dim())
    return tuple([find_overload("select.int").call(self, at, i) for i in range(self.shape[at])])


@rule("resize_", "set_.source_Tensor", "squeeze", "squeeze.dim", "slice.Tensor", "as_strided", "view")
def refuse_geometry(self: Any, *args: Any) -> Any:
    raise no_kernel(
        "Could not run 'aten::as_strided' with arguments from the 'SparseCPU' backend: sparse tensors have no strides"
    )


@rule("reshape", "flatten.using_ints")
def reshape(self: Any, *sizes: Any) -> Tensor:
    raise RuntimeError("reshape is not implemented for sparse tensors")


@rule("expand")
def expand(self: Any, size: Any, implicit: bool) -> Tensor:
    raise RuntimeError("expand is unsupported for Sparse tensors")
