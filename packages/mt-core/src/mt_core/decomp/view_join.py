"""Joining, splitting and rearranging written in other operators."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ..api import _functions as ops
from ..deprecation import warn_once
from ..dispatch.registry import register_composite as composite
from ..dtypes import scalar_type_name
from ..formats import contiguous_format
from ..promotion import result_type_of
from ..shape_rules.view import infer_size
from ..tensor import no_dimensions, wrap_dim

Ints = tuple[int, ...]


@composite("_unsafe_view", explicit=True)
def unsafe_view(self: Any, size: Any) -> Any:
    """self (*) -> `size`, and no view of it: a copy, where the backend cannot hand the memory over."""
    return self.clone().view(size)


@composite("concat", "concatenate")
def concat(tensors: list[Any], dim: int) -> Any:
    return ops.cat(tensors, dim)


@composite("_block_diag", explicit=True)
def block_diag(tensors: list[Any]) -> Any:
    """tensors (M_i, N_i), (N_i,) or () -> (sum of M, sum of N)."""
    for position, t in enumerate(tensors):
        if t.dim() > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {position} has "
                f"{t.dim()} dimensions"
            )
        if t.device != tensors[0].device:
            raise RuntimeError(
                f"Input tensors must all be on the same device. Input 0 is on device {tensors[0].device} and input "
                f"{position} is on device {t.device}."
            )
    sizes = [_sizes_of_block(t) for t in tensors]
    shape = [sum(size) for size in zip(*sizes, strict=True)]
    result = ops.zeros(shape, dtype=result_type_of(tensors), device=tensors[0].device)
    for t, place in zip(tensors, blocks(result, sizes), strict=True):
        place.copy_(t.reshape(place.shape))
    return result


def _sizes_of_block(tensor: Any) -> Ints:
    return (1, tensor.numel()) if tensor.dim() < 2 else tuple(tensor.shape)


def blocks(matrix: Any, sizes: list[Ints]) -> Iterator[Any]:
    """The blocks (M_i, N_i) along the diagonal of a matrix; views of it."""
    row = column = 0
    for rows, columns in sizes:
        yield matrix.narrow(0, row, rows).narrow(1, column, columns)
        row, column = row + rows, column + columns


@composite("hstack")
def hstack(tensors: list[Any]) -> Any:
    """tensors (N_i, *) of one dimension or (A, N_i, *) of more -> joined along it; () count as (1,)."""
    if not tensors:
        raise RuntimeError("hstack expects a non-empty TensorList")
    tensors = [t.reshape(1) if not t.dim() else t for t in tensors]
    return ops.cat(tensors, 0 if tensors[0].dim() == 1 else 1)


def _two_dims(tensor: Any) -> Any:
    if tensor.dim() == 1:
        return tensor.unsqueeze(0)
    return tensor if tensor.dim() else tensor.reshape(1, 1)


@composite("vstack", "row_stack")
def vstack(tensors: list[Any]) -> Any:
    """tensors (M_i, N), vectors as (1, N) -> (sum of M_i, N)."""
    if not tensors:
        raise RuntimeError("vstack expects a non-empty TensorList")
    return ops.cat([_two_dims(t) for t in tensors], 0)


@composite("dstack")
def dstack(tensors: list[Any]) -> Any:
    """tensors (A, B, N_i), with dimensions added where they lack -> (A, B, sum of N_i)."""
    if not tensors:
        raise RuntimeError("dstack expects a non-empty TensorList")
    return ops.cat([_three_dims(t) for t in tensors], 2)


def _three_dims(tensor: Any) -> Any:
    if tensor.dim() > 2:
        return tensor
    return _two_dims(tensor).unsqueeze(-1) if tensor.dim() else tensor.reshape(1, 1, 1)


@composite("column_stack")
def column_stack(tensors: list[Any]) -> Any:
    """tensors (M, N_i), vectors as (M, 1) -> (M, sum of N_i)."""
    if not tensors:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    return hstack([t.reshape(t.numel(), 1) if t.dim() <= 1 else t for t in tensors])


@composite("tile")
def tile(self: Any, dims: Ints) -> Any:
    """self (*S) -> (dims[i] S[i], ...), the shorter preceded by ones."""
    return self.repeat((1,) * (self.dim() - len(dims)) + tuple(dims))


@composite("fliplr")
def fliplr(self: Any) -> Any:
    if self.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return self.flip((1,))


@composite("flipud")
def flipud(self: Any) -> Any:
    if self.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return self.flip((0,))


@composite("rot90", explicit=True)
def rot90(self: Any, k: int, dims: Ints) -> Any:
    """self (*) -> the plane of two of its dimensions turned k times."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if self.dim() < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {self.dim()}")
    a, b = dims
    if wrap_dim(a, self.dim()) == wrap_dim(b, self.dim()):
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {a} and dim1 = {b}")
    turns = k % 4
    if turns == 1:
        return self.transpose(a, b).flip((a,))
    if turns == 2:
        return self.flip((a, b))
    if turns == 3:
        return self.transpose(a, b).flip((b,))
    return self.clone(memory_format=contiguous_format)


@composite("chunk")
def chunk(self: Any, chunks: int, dim: int) -> Any:
    if not self.dim():
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = self._array.shape[wrap_dim(dim, self.dim())]
    each = (size + chunks - 1) // chunks
    if each == 0:
        return ops.split_with_sizes(self, (0,) * chunks, dim)
    return ops.split(self, each, dim)


@composite("split.sizes")
def split_sizes(self: Any, split_size: Ints, dim: int) -> Any:
    return ops.split_with_sizes(self, split_size, dim)


@composite("tensor_split.sections")
def tensor_split_sections(self: Any, sections: int, dim: int) -> Any:
    if not self.dim():
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    size = self._array.shape[wrap_dim(dim, self.dim())]
    base, extra = divmod(size, sections)
    starts = [i * base + min(i, extra) for i in range(sections + 1)]
    return tuple(ops.slice(self, dim, start, end, 1) for start, end in pairwise(starts))


@composite("tensor_split.indices")
def tensor_split_indices(self: Any, indices: Ints, dim: int) -> Any:
    if not self.dim():
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    at = wrap_dim(dim, self.dim())
    ends = [*indices, self._array.shape[at]]
    starts = [0, *indices]
    return tuple(ops.slice(self, at, start, end, 1) for start, end in zip(starts, ends, strict=True))


@composite("tensor_split.tensor_indices_or_sections")
def tensor_split_tensor(self: Any, tensor_indices_or_sections: Any, dim: int) -> Any:
    how = tensor_indices_or_sections
    if how.dim() > 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, "
            f"but got a tensor with {how.dim()} dims"
        )
    if how.dtype.name != "int64":
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
            f"{scalar_type_name(how.dtype)}"
        )
    if not how.dim():
        return tensor_split_sections(self, int(how.item()), dim)
    return tensor_split_indices(self, tuple(how.tolist()), dim)


def _split_along(name: str, dims: dict[int, int]) -> None:
    """Declare ``hsplit`` and its kin: the split dimension depends on the number of dimensions."""

    def along(self: Any) -> int:
        least = min(dims)
        if self.dim() < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got "
                f"a tensor with {self.dim()} dimensions!"
            )
        return dims[min(self.dim(), max(dims))]

    def by_sections(self: Any, sections: int) -> Any:
        dim = along(self)
        size = self._array.shape[dim]
        if sections == 0 or size % sections:
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {size} is "
                f"not divisible by the split_size {sections}!"
            )
        return tensor_split_sections(self, sections, dim)

    composite(f"{name}.int")(by_sections)
    composite(f"{name}.array")(lambda self, indices: tensor_split_indices(self, indices, along(self)))


_split_along("hsplit", {1: 0, 2: 1})
_split_along("vsplit", {2: 0})
_split_along("dsplit", {3: 2})


@composite("unflatten.int")
def unflatten(self: Any, dim: int, sizes: Ints) -> Any:
    """self (*L, N, *R) -> view (*L, *sizes, *R), at `dim`."""
    at = wrap_dim(dim, self.dim())
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    shape = self._array.shape
    if not shape:
        raise RuntimeError(f"unflatten got an unexpected error:\n{no_dimensions(at)}")
    try:
        split = infer_size(sizes, shape[at])
    except RuntimeError as error:
        if str(error).startswith("shape '"):
            words = f"Provided sizes {list(sizes)} don't multiply up to the size of dim {at} ({shape[at]}) in the input"
            raise RuntimeError(f"unflatten: {words} tensor") from None
        raise RuntimeError(f"unflatten got an unexpected error:\n{error}") from None
    return self.view((*shape[:at], *split, *shape[at + 1 :]))


@composite("movedim.intlist", "moveaxis.intlist")
def movedim(self: Any, source: Ints, destination: Ints) -> Any:
    ndim = self.dim()
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same "
            f"number of dims as destination ({list(destination)} dims)"
        )
    moved, places = [wrap_dim(d, ndim) for d in source], [wrap_dim(d, ndim) for d in destination]
    for name, given, dims in (("source", source, moved), ("destination", destination, places)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(given)})")
    if not ndim:
        return ops.alias(self)
    rest = iter([d for d in range(ndim) if d not in moved])
    place_of = dict(zip(places, moved, strict=True))
    return self.permute([place_of[i] if i in place_of else next(rest) for i in range(ndim)])


@composite("movedim.int", "moveaxis.int")
def movedim_int(self: Any, source: int, destination: int) -> Any:
    return movedim(self, (source,), (destination,))


@composite("swapaxes", "swapdims")
def swapaxes(self: Any, dim0: int, dim1: int) -> Any:
    return self.transpose(dim0, dim1)


@composite("swapaxes_", "swapdims_")
def swapaxes_(self: Any, dim0: int, dim1: int) -> Any:
    return self.transpose_(dim0, dim1)


@composite("broadcast_to")
def broadcast_to(self: Any, size: Ints) -> Any:
    return self.expand(size)


@composite("ravel")
def ravel(self: Any) -> Any:
    return self.contiguous().view((-1,))


@composite("reshape_as")
def reshape_as(self: Any, other: Any) -> Any:
    return self.reshape(tuple(other.shape))


@composite("adjoint")
def adjoint(self: Any) -> Any:
    """self (*, M, N) -> (*, N, M), conjugated; () as it is."""
    if not self.dim():
        warn_once("adjoint() is deprecated on 0-D tensors. Consider using x.conj().")
        return self.conj()
    if self.dim() == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    transposed = self.transpose(-2, -1)
    return transposed.conj() if self.is_complex() else transposed


def _pieces(views: Any) -> tuple[Any, ...]:
    """The same stretches of memory, which count as tensors of their own: each with its own version."""
    return tuple(view.data for view in views)


@composite("unsafe_chunk")
def unsafe_chunk(self: Any, chunks: int, dim: int) -> Any:
    if not self.dim():
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    each = -(-self.shape[dim] // chunks)
    if not each:
        return ops.unsafe_split_with_sizes(self, (0,) * chunks, dim)
    return ops.unsafe_split(self, each, dim)


@composite("unsafe_split.Tensor", explicit=True)
def unsafe_split(self: Any, split_size: int, dim: int) -> tuple[Any, ...]:
    return _pieces(self.split(split_size, dim))


@composite("unsafe_split_with_sizes", explicit=True)
def unsafe_split_with_sizes(self: Any, split_sizes: tuple[int, ...], dim: int) -> tuple[Any, ...]:
    return _pieces(self.split(split_sizes, dim))


@composite("_chunk_cat")
def chunk_cat(tensors: Any, dim: int, num_chunks: int) -> Any:
    """tensors [(*L, N, *R)] -> (*L, num_chunks, *); those of fewer elements are filled up with zeros."""
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if any(tensor.dim() != tensors[0].dim() for tensor in tensors):
        if dim < 0:
            raise RuntimeError("_chunk_cat expects non-negative dim when input tensors have different ndims")
        if any(dim >= tensor.dim() for tensor in tensors):
            raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
    dim = wrap_dim(dim, tensors[0].dim())
    for tensor in tensors:
        if tensor.numel() == 0:
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        if tensor._dtype is not tensors[0]._dtype:
            raise RuntimeError("_chunk_cat expects all input tensors with the same dtype")
        if tensor.shape[:dim] != tensors[0].shape[:dim]:
            raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
    return ops.cat([_in_chunks(tensor, wrap_dim(dim, tensor.dim()), num_chunks) for tensor in tensors], dim + 1)


def _in_chunks(tensor: Any, dim: int, num_chunks: int) -> Any:
    """(*L, N, *R) -> (*L, num_chunks, ceil(N / num_chunks) * R)."""
    lead, size = tensor.shape[:dim], tensor.shape[dim]
    padding = -(-size // num_chunks) * num_chunks - size
    if padding:
        filler = tensor.new_zeros((*lead, padding, *tensor.shape[dim + 1 :]))
        tensor = ops.cat([tensor, filler], dim)
    return tensor.reshape((*lead, num_chunks, -1))
