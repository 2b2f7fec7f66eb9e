"""Compressed rows and columns (CSR, CSC): to coordinates, to ordinary tensors and back.

A batch of them is one such matrix for each place of the first dimensions, all with as many values.
"""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..formats import layout, sparse_csc, sparse_csr
from ..sparse.tensors import Compressed, compressed, coordinates, is_coo, is_sparse
from ..tensor import Tensor

__all__ = ["compress", "densified", "indices_of", "masked", "to_coordinates", "with_values"]


def lines_of(array: Compressed) -> Tensor:
    """The row of each value, or its column where columns are compressed: (*batch, nnz)."""
    pointers = array.pointers.to(dtypes.int64)
    counts = pointers.diff()
    n = int(counts.shape[-1])
    batch = math.prod(counts.shape[:-1])
    lines = ops.arange(n, dtype=dtypes.int64, device=pointers.device).repeat(batch)
    return lines.repeat_interleave(counts.reshape(-1)).reshape(array.plain.shape)


def indices_of(array: Compressed) -> Tensor:
    """(batch_dim + 2, count of all values), in the order in which the values stand."""
    lines, plain = lines_of(array), array.plain.to(dtypes.int64)
    rows, columns = (lines, plain) if array.by_rows else (plain, lines)
    batch = array.plain.shape[:-1]
    above: list[Any] = []
    for dim, size in enumerate(batch):
        index = ops.arange(size, dtype=dtypes.int64, device=plain.device)
        shape = [1] * array.plain.ndim
        shape[dim] = size
        above.append(index.reshape(shape).expand(array.plain.shape).reshape(-1))
    return ops.stack([*above, rows.reshape(-1), columns.reshape(-1)])


def to_coordinates(array: Compressed) -> Tensor:
    """The same as coordinates, which are sorted where rows are compressed."""
    values = array.values.reshape(math.prod(array.plain.shape), *array.values.shape[array.batch_dim + 1 :])
    return coordinates(indices_of(array), values, array.shape, array.by_rows)


def densified(array: Compressed) -> Tensor:
    """The elements as an ordinary tensor."""
    return to_coordinates(array).to_dense()  # type: ignore[attr-defined,no-any-return]


def with_values(array: Compressed, values: Tensor) -> Tensor:
    """Other values at the same indices."""
    return compressed(array.pointers, array.plain, values, array.shape, array.layout)


def compress(tensor: Tensor, wanted: layout, dense_dim: Any = None) -> Tensor:
    """A tensor as compressed rows or columns.

    Raises
    ------
    RuntimeError
        For other than matrices or batches of them, and batches that are not filled alike.
    """
    if is_sparse(tensor):
        array = tensor._array
        if dense_dim is not None and dense_dim != array.dense_dim:
            raise RuntimeError(
                "to_sparse: conversion from a sparse tensor takes no dense_dim other than its own, got "
                f"{dense_dim} for {array.dense_dim}"
            )
        coo: Any = (tensor if is_coo(tensor) else to_coordinates(array)).coalesce()  # type: ignore[attr-defined]
        if coo._array.sparse_dim != 2 and is_coo(tensor):
            raise RuntimeError(
                "to_sparse: conversion from Sparse to "
                f"{'SparseCsr' if wanted is sparse_csr else 'SparseCsc'} for input tensors with sparse_dim()!=2 is not "
                "supported"
            )
        return _of_coordinates(coo._array, wanted)
    dims = tensor.dim() - (dense_dim or 0)
    if dims < 2:
        raise RuntimeError(
            f"to_sparse: the layout {wanted!r} is for at least 2 dimensions besides the dense ones, got {dims}"
        )
    return _of_coordinates(tensor.to_sparse(dims)._array, wanted)  # type: ignore[attr-defined]


def _of_coordinates(coo: Any, wanted: layout) -> Tensor:
    """Compress sorted coordinates; all dimensions in front of the last two count as a batch."""
    shape, sparse_dim = coo.shape, coo.sparse_dim
    batch = shape[: sparse_dim - 2]
    n_rows, n_columns = shape[sparse_dim - 2 : sparse_dim]
    indices, values = coo.indices, coo.values
    rows, columns = indices[-2], indices[-1]
    member = indices.new_zeros(rows.shape)
    for dim, size in enumerate(batch):
        member = member * size + indices[dim]
    lines, plain, n = (rows, columns, n_rows) if wanted is sparse_csr else (columns, rows, n_columns)
    members = math.prod(batch)
    if wanted is sparse_csc:
        order = (member * n + lines).argsort(stable=True)
        member, lines, plain, values = (t.index_select(0, order) for t in (member, lines, plain, values))
    counts = ops.bincount(member * n + lines, minlength=members * n).reshape(members, n)
    each = counts.sum(1)
    if members > 1 and bool((each != each[0]).any()):
        raise RuntimeError("Expect the same number of specified elements per batch.")
    nnz = int(plain.shape[0]) // max(members, 1)
    pointers = ops.cat([counts.new_zeros((members, 1)), counts.cumsum(1)], 1)
    return compressed(
        pointers.reshape(*batch, n + 1), plain.reshape(*batch, nnz), values.reshape(*batch, nnz, *values.shape[1:]),
        shape, wanted,
    )  # fmt: skip


def masked(tensor: Tensor, array: Compressed) -> Tensor:
    """A tensor's elements at the indices of compressed rows or columns."""
    source = tensor.to_dense() if is_sparse(tensor) else tensor  # type: ignore[attr-defined]
    picked = source[tuple(indices_of(array))]
    return with_values(array, picked.reshape(array.values.shape))
