"""Tensors of coordinates (COO): what they consist of, how they are sorted, and made of ordinary tensors and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import find_overload
from ..dispatch.registry import register_composite as composite
from ..errors import no_kernel
from ..formats import layout, sparse_coo, sparse_csc, sparse_csr, strided
from ..sparse.tensors import (
    Compressed,
    SparseArray,
    coordinates,
    empty_coordinates,
    flat_indices,
    is_coo,
    is_sparse,
    layout_name,
    replace,
)
from ..tensor import Tensor
from . import _compressed

# What they consist of


def _of_coordinates(name: str, tensor: Tensor) -> Any:
    """The insides of a tensor of coordinates, for members that others lack.

    Raises
    ------
    RuntimeError
        For tensors of other layouts.
    """
    if not is_coo(tensor):
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got {layout_name(tensor)}")
    return tensor._array


def _stored(name: str, tensor: Tensor) -> Any:
    """As `_of_coordinates`, for the operators that PyTorch has for no other tensors at all."""
    if not is_coo(tensor):
        kind = f"{layout_name(tensor)}CPU" if is_sparse(tensor) else tensor.device.type.upper()
        raise no_kernel(f"Could not run 'aten::{name}' with arguments from the '{kind}' backend.")
    return tensor._array


@composite("sparse_dim", explicit=True)
def sparse_dim(self: Tensor) -> int:
    """How many dimensions have indices; none of an ordinary tensor's."""
    if not is_sparse(self):
        return 0
    return self._array.sparse_dim if is_coo(self) else 2


@composite("dense_dim", explicit=True)
def dense_dim(self: Tensor) -> int:
    return int(self._array.dense_dim) if is_sparse(self) else self.dim()


@composite("_dimI", explicit=True)
def _dim_i(self: Tensor) -> int:
    return int(_stored("_dimI", self).sparse_dim)


@composite("_dimV", explicit=True)
def _dim_v(self: Tensor) -> int:
    return int(_stored("_dimV", self).dense_dim)


@composite("_nnz", explicit=True)
def _nnz(self: Tensor) -> int:
    return int(self._array.nnz if is_sparse(self) else _stored("_nnz", self).nnz)


@composite("is_coalesced", explicit=True)
def is_coalesced(self: Tensor) -> bool:
    return bool(_of_coordinates("is_coalesced", self).is_coalesced)


@composite("_coalesced_", explicit=True)
def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    _stored("_coalesced_", self).is_coalesced = coalesced
    return self


@composite("_indices", explicit=True)
def _indices(self: Tensor) -> Tensor:
    """(sparse_dim, nnz)."""
    return _stored("_indices", self).indices.detach()  # type: ignore[no-any-return]


@composite("_values", explicit=True)
def _values(self: Tensor) -> Tensor:
    """(nnz, *dense sizes)."""
    return _stored("_values", self).values.detach()  # type: ignore[no-any-return]


def _coalesced(name: str, tensor: Tensor) -> Any:
    array = _of_coordinates(name, tensor)
    if not array.is_coalesced:
        raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
    return array


@composite("indices", explicit=True)
def indices(self: Tensor) -> Tensor:
    """(sparse_dim, nnz)."""
    return _coalesced("indices", self).indices.detach()  # type: ignore[no-any-return]


@composite("values", explicit=True)
def values(self: Tensor) -> Tensor:
    """(nnz, *dense sizes), of compressed tensors (*batch, nnz, *dense sizes)."""
    if not is_sparse(self):
        raise RuntimeError("values expected sparse tensor layout but got Strided")
    array = self._array if isinstance(self._array, Compressed) else _coalesced("values", self)
    return array.values.detach()  # type: ignore[no-any-return]


# Sorting


@composite("coalesce")
def coalesce(self: Tensor) -> Tensor:
    """The tensor itself where it is sorted."""
    if _of_coordinates("coalesce", self).is_coalesced:
        return self
    return find_overload("_coalesce").call(self)  # type: ignore[no-any-return]


@composite("_coalesce", explicit=True)
def _coalesce(self: Tensor) -> Tensor:
    """Sort the indices, and add up the values of equal ones in the order in which they stand."""
    array = _of_coordinates("coalesce", self)
    n = array.sparse_dim
    sizes = array.shape[:n]
    flat = flat_indices(array.indices, sizes)
    found, places = ops.unique_dim(flat, 0, True, True, False)[:2]
    if int(found.numel()) == int(flat.numel()):
        order = flat.argsort()
        return coordinates(array.indices.index_select(1, order), array.values.index_select(0, order), array.shape, True)
    added = array.values
    if added.dtype is dtypes.bool:
        summed = _summed(added.to(dtypes.uint8), places, found.numel()).to(dtypes.bool)
    else:
        summed = _summed(added, places, found.numel())
    return coordinates(unflattened(found, sizes), summed, array.shape, True)


def _summed(values: Tensor, places: Tensor, n: int) -> Any:
    total = values.new_zeros((int(n), *values.shape[1:]))
    return total.index_add_(0, places, values)


def unflattened(flat: Tensor, sizes: Sequence[int]) -> Tensor:
    """Indices (len(sizes), nnz) of numbers that count elements in the order of rows."""
    rows: list[Any] = []
    for size in reversed(sizes):
        rows.append(flat % max(size, 1))
        flat = ops.div(flat, max(size, 1), rounding_mode="floor")
    if not rows:
        return flat.new_zeros((0, flat.shape[0]))
    return ops.stack(rows[::-1])


# Making them


def placed(values: Tensor, dtype: Any, device: Any) -> Tensor:
    """The values in the dtype and on the device that were asked for."""
    return values.to(device=device or values.device, dtype=dtype or values.dtype)


def _check_layout(function: str, given: Any, expected: layout) -> None:
    if given is not None and given is not expected:
        raise RuntimeError(f"{function}: expected layout {expected!r}, but got {given!r}")


def check_coordinates(indices: Tensor, values: Tensor, size: Sequence[int]) -> None:
    """Refuse indices, values and sizes that do not go together, in PyTorch's words.

    Raises
    ------
    RuntimeError
    """
    if indices.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if not indices.dtype.is_integral:
        raise RuntimeError(f"indices must be an int64 tensor, but got: {indices.type()}")
    count, nnz = indices.shape
    dense = values.ndim - 1
    if len(size) != count + dense:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {count}, "
            f"dense_dim = {dense}"
        )
    if nnz != values.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {nnz}, nnz from values: "
            f"{values.shape[0]}"
        )
    expected = [nnz, *size[count:]]
    if list(values.shape) != expected:
        raise RuntimeError(f"values has incorrect size, expected {expected}, got {list(values.shape)}")


def _check_count(size: Any) -> None:
    """Refuse sizes whose product is no count: PyTorch multiplies them as unsigned numbers of 64 bits."""
    if not all(type(n) is int for n in size):
        return  # symbols, of which nothing is known
    count = 1
    for n in size:
        count *= n % 2**64
        if count >= 2**64:
            break
    if count >= 2**63:
        raise RuntimeError("numel: integer multiplication overflow")


@composite("sparse_coo_tensor.size")
def sparse_coo_tensor_size(size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Tensor:
    return find_overload("_sparse_coo_tensor_with_dims").call(len(size), 0, size, dtype, sparse_coo, device, pin_memory)  # type: ignore[no-any-return]


@composite("_sparse_coo_tensor_with_dims", explicit=True)
def _sparse_coo_tensor_with_dims(
    sparse_dim: int, dense_dim: int, size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Tensor:
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = "
            f"{sparse_dim}, dense_dim = {dense_dim}"
        )
    _check_count(size)
    like = ops.empty([0], dtype=dtype, device=device)
    return empty_coordinates(size, sparse_dim, like.dtype, like.device)


def least_size(indices: Tensor, values: Tensor) -> list[int]:
    """The least size that holds coordinates."""
    if indices.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if not int(indices.shape[1]):
        return [0] * int(indices.shape[0]) + list(values.shape[1:])
    lowest = indices.amin(1)
    if bool((lowest < 0).any()):
        dim = int((lowest < 0).to(dtypes.int64).argmax())
        raise RuntimeError(f"found negative index {int(lowest[dim])} for dim {dim}")
    return [int(n) + 1 for n in indices.amax(1).tolist()] + list(values.shape[1:])


@composite("sparse_coo_tensor.indices")
def sparse_coo_tensor_indices(
    indices: Tensor, values: Tensor, dtype: Any, layout: Any, device: Any, pin_memory: Any, is_coalesced: Any
) -> Tensor:
    size = least_size(indices, values)
    return sparse_coo_tensor_sized(indices, values, size, dtype, layout, device, pin_memory, is_coalesced)


@composite("sparse_coo_tensor.indices_size")
def sparse_coo_tensor_sized(
    indices: Tensor, values: Tensor, size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, is_coalesced: Any
) -> Tensor:
    check_coordinates(indices, values, size)
    return _unsafe(indices, values, size, dtype, layout, device, pin_memory, is_coalesced)


@composite("_sparse_coo_tensor_unsafe")
def _unsafe(
    indices: Tensor, values: Tensor, size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, is_coalesced: Any
) -> Tensor:
    _check_layout("sparse_coo_tensor", layout, sparse_coo)
    count = int(indices.shape[0])
    return find_overload("_sparse_coo_tensor_with_dims_and_tensors").call(  # type: ignore[no-any-return]
        count, len(size) - count, list(size), indices, values, dtype, sparse_coo, device, pin_memory, is_coalesced
    )


@composite("_sparse_coo_tensor_with_dims_and_tensors", explicit=True)
def _with_dims_and_tensors(
    sparse_dim: int, dense_dim: int, size: Any, indices: Tensor, values: Tensor, dtype: Any, layout: Any, device: Any,
    pin_memory: Any, is_coalesced: Any,
) -> Tensor:  # fmt: skip
    """The tensors themselves lie behind the new one, detached."""
    _check_count(size)
    held = placed(values.detach(), dtype, device)
    where = indices.detach().to(device=held.device, dtype=dtypes.int64)
    return coordinates(where, held, size, bool(is_coalesced))


# To ordinary tensors and back


def densified(array: SparseArray) -> Tensor:
    """A sparse tensor's elements, values of equal indices added up."""
    if isinstance(array, Compressed):
        return _compressed.densified(array)
    coo: Any = array
    n = coo.sparse_dim
    sizes = coo.shape[:n]
    if coo.values.dtype is dtypes.bool:
        return _laid_out(coo, coo.values.to(dtypes.uint8), sizes).to(dtypes.bool)  # type: ignore[no-any-return]
    return _laid_out(coo, coo.values, sizes)


def _laid_out(coo: Any, values: Tensor, sizes: Sequence[int]) -> Any:
    flat = values.new_zeros((math.prod(sizes), *coo.shape[len(sizes) :]))
    check_within(coo.indices, sizes)
    flat.index_add_(0, flat_indices(coo.indices, sizes), values)
    return flat.reshape(coo.shape)


def check_within(indices: Tensor, sizes: Sequence[int]) -> None:
    """Refuse indices that no element has: PyTorch writes to other memory then.

    Raises
    ------
    RuntimeError
    """
    if not indices.numel():
        return
    for dim, size in enumerate(sizes):
        low, high = int(indices[dim].min()), int(indices[dim].max())
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {dim}")
        if high >= size:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {size} but found index {high}"
            )


@composite("to_dense")
def to_dense(self: Tensor, dtype: Any, masked_grad: Any) -> Tensor:
    if not is_sparse(self):
        return self.to(dtype=dtype) if dtype is not None else self
    return find_overload("_to_dense").call(self, dtype, masked_grad)  # type: ignore[no-any-return]


@composite("_to_dense", explicit=True)
def _to_dense(self: Tensor, dtype: Any, masked_grad: Any) -> Tensor:
    if not is_sparse(self):
        return self.clone() if dtype is None else self.to(dtype=dtype, copy=True)
    if dtype is not None and dtype is not self.dtype:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    return densified(self._array)


@composite("to_dense_backward")
def to_dense_backward(grad: Tensor, input: Tensor, masked_grad: Any) -> Tensor:
    if not is_sparse(input):
        return grad.to_dense()  # type: ignore[attr-defined,no-any-return]
    if is_coo(input):
        if masked_grad is None or masked_grad:
            return grad.sparse_mask(input.detach().coalesce())  # type: ignore[attr-defined,no-any-return]
        return grad.to_sparse(input.sparse_dim())  # type: ignore[attr-defined,no-any-return]
    if masked_grad is None or masked_grad:
        return grad.sparse_mask(input.detach())  # type: ignore[attr-defined,no-any-return]
    dense_dim = input._array.dense_dim
    return grad.to_sparse(layout=input.layout, dense_dim=dense_dim)  # type: ignore[attr-defined,no-any-return]


@composite("to_sparse.sparse_dim")
def to_sparse_dim(self: Tensor, sparse_dim: int) -> Tensor:
    if is_coo(self) and self._array.sparse_dim == sparse_dim:
        return self
    return find_overload("_to_sparse.sparse_dim").call(self, sparse_dim)  # type: ignore[no-any-return]


@composite("to_sparse")
def to_sparse(self: Tensor, layout: Any, blocksize: Any, dense_dim: Any) -> Tensor:
    wanted = layout if layout is not None else sparse_coo
    if is_sparse(self) and self.layout is wanted:
        return self
    return find_overload("_to_sparse").call(self, layout, blocksize, dense_dim)  # type: ignore[no-any-return]


@composite("_to_sparse.sparse_dim", explicit=True)
def _to_sparse_dim(self: Tensor, sparse_dim: int) -> Tensor:
    if is_coo(self):
        if self._array.sparse_dim == sparse_dim:
            raise RuntimeError("to_sparse: conversion from Sparse to Sparse is for tensors of other sparse dimensions")
        return _to_sparse_dim(densified(self._array), sparse_dim)
    if is_sparse(self):
        self = densified(self._array)
    dims = self.dim()
    if dims and not sparse_dim:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    if not 0 <= sparse_dim <= dims:
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [0,{dims}] range, but {sparse_dim} is given"
        )
    sizes = self.shape[:sparse_dim]
    blocks = self.reshape((math.prod(sizes), *self.shape[sparse_dim:])) if dims else self.reshape(1)
    occupied = blocks != 0
    if occupied.ndim > 1:
        occupied = occupied.flatten(1).any(1) if occupied.numel() else occupied.new_zeros((blocks.shape[0],))
    places = ops.nonzero(occupied).reshape(-1)
    return coordinates(unflattened(places, sizes), blocks.index_select(0, places), self.shape, True)


@composite("_to_sparse", explicit=True)
def _to_sparse(self: Tensor, layout: Any, blocksize: Any, dense_dim: Any) -> Tensor:
    wanted = sparse_coo if layout is None else layout
    if wanted is sparse_coo:
        if blocksize is not None:
            raise RuntimeError("to_sparse: Conversion from Strided to Sparse does not support blocksize")
        return _to_coordinates(self, dense_dim)
    if wanted in (sparse_csr, sparse_csc):
        return _compressed.compress(self, wanted, dense_dim)
    if wanted is strided:
        raise RuntimeError("to_sparse: unexpected target layout Strided")
    raise NotImplementedError(
        f"tensors of layout {wanted!r} are not supported: sparse ones are torch.sparse_coo, torch.sparse_csr and "
        "torch.sparse_csc"
    )


def _to_coordinates(tensor: Tensor, dense_dim: Any) -> Tensor:
    if is_sparse(tensor):
        array = tensor._array
        return _compressed.to_coordinates(array) if isinstance(array, Compressed) else tensor
    return _to_sparse_dim(tensor, tensor.dim() - (dense_dim or 0))


@composite("to_sparse_csr")
def to_sparse_csr(self: Tensor, dense_dim: Any) -> Tensor:
    if is_sparse(self) and self.layout is sparse_csr:
        return self
    return find_overload("_to_sparse_csr").call(self, dense_dim)  # type: ignore[no-any-return]


@composite("to_sparse_csc")
def to_sparse_csc(self: Tensor, dense_dim: Any) -> Tensor:
    if is_sparse(self) and self.layout is sparse_csc:
        return self
    return find_overload("_to_sparse_csc").call(self, dense_dim)  # type: ignore[no-any-return]


@composite("_to_sparse_csr", explicit=True)
def _to_sparse_csr(self: Tensor, dense_dim: Any) -> Tensor:
    return _compressed.compress(self, sparse_csr, dense_dim)


@composite("_to_sparse_csc", explicit=True)
def _to_sparse_csc(self: Tensor, dense_dim: Any) -> Tensor:
    return _compressed.compress(self, sparse_csc, dense_dim)


@composite("sparse_mask", explicit=True)
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements at the mask's indices; those that a sparse tensor has not are zero."""
    if not is_sparse(mask):
        raise no_kernel(
            f"Could not run 'aten::sparse_mask' with arguments from the '{self.device.type.upper()}' backend."
        )
    if tuple(self.shape) != tuple(mask.shape):
        raise RuntimeError(
            "sparse_mask(): operands have incompatible sizes; self has size "
            f"{list(self.shape)} but mask has size {list(mask.shape)}"
        )
    if isinstance(mask._array, Compressed):
        return _compressed.masked(self, mask._array)
    array = mask._array
    if is_coo(self):
        return _mask_sparse(self, array)
    source = densified(self._array) if is_sparse(self) else self
    n = array.sparse_dim
    sizes = array.shape[:n]
    check_within(array.indices, sizes)
    blocks = source.reshape((math.prod(sizes), *array.shape[n:]))
    picked = blocks.index_select(0, flat_indices(array.indices, sizes))
    return coordinates(array.indices.clone(), picked, array.shape, array.is_coalesced)


def _mask_sparse(self: Tensor, array: Any) -> Tensor:
    source = self.coalesce()._array  # type: ignore[attr-defined]
    n = array.sparse_dim
    if source.sparse_dim != n:
        raise RuntimeError(
            f"sparse_mask(): the number of sparse dimensions in `self` should match that of the mask. Got "
            f"`self.sparse_dim() == {source.sparse_dim}` != `mask.sparse_dim() == {n}`"
        )
    sizes = array.shape[:n]
    have, want = flat_indices(source.indices, sizes), flat_indices(array.indices, sizes)
    picked = array.values.new_zeros(array.values.shape, dtype=self.dtype)
    if have.numel() and want.numel():
        at = ops.searchsorted(have, want).clamp(max=int(have.numel()) - 1)
        found = have.index_select(0, at) == want
        rows = source.values.index_select(0, at)
        picked = ops.where(found.reshape(-1, *[1] * (rows.ndim - 1)), rows, picked)
    return coordinates(array.indices.clone(), picked, array.shape, array.is_coalesced)


# Other sizes


@composite("sparse_resize_", explicit=True)
def sparse_resize_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """What there are of indices and values stays where it fits.

    Raises
    ------
    RuntimeError
        Where indices that are there would lose a dimension, or fall outside.
    """
    return _resized(self, size, sparse_dim, dense_dim, keep=True)


@composite("sparse_resize_and_clear_", explicit=True)
def sparse_resize_and_clear_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    return _resized(self, size, sparse_dim, dense_dim, keep=False)


def _resized(self: Tensor, size: Any, sparse_dim: int, dense_dim: int, keep: bool) -> Tensor:
    array = _stored("sparse_resize_", self)
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = "
            f"{sparse_dim}, dense_dim = {dense_dim}"
        )
    if not keep or not array.nnz:
        return replace(self, empty_coordinates(size, sparse_dim, self.dtype, self.device))
    for given, had, kind in ((sparse_dim, array.sparse_dim, "sparse"), (dense_dim, array.dense_dim, "dense")):
        if given != had:
            raise RuntimeError(
                f"changing the number of {kind} dimensions (from {had} to {given}) on a non-empty sparse tensor is not "
                "supported.\nThis method supports non-empty sparse tensors only where their dimensions grow."
            )
    shrunk = [new < old for new, old in zip(size, array.shape, strict=True)]
    if any(shrunk):
        raise RuntimeError(
            f"shrinking the size of {'sparse' if any(shrunk[:sparse_dim]) else 'dense'} dimensions "
            f"(from {list(array.shape)} to {list(size)}) on a non-empty sparse tensor is not supported."
        )
    values = array.values
    grown = values.new_zeros((array.nnz, *size[sparse_dim:]))
    block = grown
    for dim, length in enumerate(array.shape[sparse_dim:], 1):
        block = block.narrow(dim, 0, length)
    block.copy_(values)
    return replace(self, coordinates(array.indices, grown, size, array.is_coalesced))


@composite("embedding_sparse_backward", explicit=True)
def embedding_sparse_backward(
    grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """A row for each index, in the order in which they stand; the rows of `padding_idx` are left out."""
    if scale_grad_by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    width = int(grad.shape[-1])
    rows, flat = grad.reshape(-1, width), indices.reshape(-1).to(dtypes.int64)
    if padding_idx != -1:
        kept = ops.nonzero(flat != padding_idx).reshape(-1)
        rows, flat = rows.index_select(0, kept), flat.index_select(0, kept)
    return coordinates(flat.reshape(1, -1), rows, (num_weights, width))
