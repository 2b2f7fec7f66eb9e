"""Operators on sparse tensors that PyTorch has at the top level, written in others."""

from __future__ import annotations

from typing import Any

from mt_core import Tensor
from mt_core.api import _functions as ops
from mt_core.formats import sparse_coo
from mt_core.sparse.construct import sparse_coo_tensor

__all__ = [
    "ccol_indices_copy", "col_indices_copy", "crow_indices_copy", "dsmm", "hsmm", "indices_copy", "native_norm",
    "row_indices_copy", "saddmm", "spmm", "values_copy",
]  # fmt: skip

_NO_KERNEL = "Could not run 'aten::{}' with arguments from the '{}' backend."


def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """``torch.mm``, by its name for a sparse `input`."""
    return ops.mm(input, mat2)  # type: ignore[no-any-return]


dsmm = spmm


def hsmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Product of a sparse (n, k) and a dense (k, m): a hybrid (n, m), whose values are those rows that are not empty.

    Raises
    ------
    NotImplementedError
        Where `mat1` is not of coordinates.
    """
    if mat1.layout is not sparse_coo:
        raise NotImplementedError(_NO_KERNEL.format("hspmm", _backend_of(mat1)))
    rows = mat1.coalesce().indices()[0].unique()
    values = ops.index_select(ops.mm(mat1, mat2), 0, rows)
    made = sparse_coo_tensor(rows.unsqueeze(0), values, (mat1.shape[0], mat2.shape[1]))
    return made.coalesce()  # type: ignore[no-any-return]


def saddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * mat1 @ mat2`` of coordinates, for a sparse `input` and `mat1` and a dense `mat2`.

    Raises
    ------
    RuntimeError
        Where `input` or `mat1` is not of coordinates.
    """
    for name, part in (("input", input), ("mat1", mat1)):
        if part.layout is not sparse_coo:
            raise RuntimeError(f"saddmm: {name} must be a sparse COO tensor, but got layout {part.layout}")
    return input * beta + hsmm(mat1, mat2).to_dense().to_sparse() * alpha  # type: ignore[no-any-return]


def native_norm(input: Tensor, p: Any = 2) -> Tensor:
    """The norm of the values of a tensor of coordinates.

    Raises
    ------
    NotImplementedError
        For dense tensors, as in PyTorch: their norm is `torch.linalg.vector_norm`.
    """
    if input.layout is not sparse_coo:
        raise NotImplementedError(_NO_KERNEL.format("native_norm", _backend_of(input)))
    return input.coalesce().values().norm(p)  # type: ignore[no-any-return]


def indices_copy(input: Tensor) -> Tensor:
    """Refused for every layout, as in PyTorch, which has no kernel of it: use ``input.indices().clone()``."""
    raise NotImplementedError(_NO_KERNEL.format("indices_copy", _backend_of(input)))


def values_copy(input: Tensor) -> Tensor:
    """The values of a tensor of compressed rows or columns, copied.

    Raises
    ------
    NotImplementedError
        For tensors of coordinates, as in PyTorch.
    RuntimeError
        For dense tensors.
    """
    if input.layout is sparse_coo:
        raise NotImplementedError(_NO_KERNEL.format("values_copy", _backend_of(input)))
    return input.values().clone()  # type: ignore[no-any-return]


def crow_indices_copy(input: Tensor) -> Tensor:
    """Where each compressed row begins, copied."""
    return input.crow_indices().clone()  # type: ignore[no-any-return]


def col_indices_copy(input: Tensor) -> Tensor:
    """The columns of compressed rows, copied."""
    return input.col_indices().clone()  # type: ignore[no-any-return]


def ccol_indices_copy(input: Tensor) -> Tensor:
    """Where each compressed column begins, copied."""
    return input.ccol_indices().clone()  # type: ignore[no-any-return]


def row_indices_copy(input: Tensor) -> Tensor:
    """The rows of compressed columns, copied."""
    return input.row_indices().clone()  # type: ignore[no-any-return]


def _backend_of(tensor: Tensor) -> str:
    kind = tensor.device.type
    place = "CPU" if kind == "cpu" else kind.upper() if kind in ("cuda", "xpu", "mps") else kind.capitalize()
    return f"Sparse{place}" if tensor.layout is sparse_coo else place
