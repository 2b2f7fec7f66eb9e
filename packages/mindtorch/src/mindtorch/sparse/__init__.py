"""``torch.sparse``: operators on tensors of coordinates (COO) and of compressed rows and columns (CSR, CSC)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mt_autograd.gradcheck_sparse import with_sparse_support
from mt_core import Tensor, dtypes
from mt_core.api import _functions as ops
from mt_core.dispatch.registry import find_overload
from mt_core.formats import layout as Layout
from mt_core.formats import sparse_coo, sparse_csc, sparse_csr

from .invariants import check_sparse_tensor_invariants

__all__ = [
    "addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax",
    "spdiags", "spsolve", "sum", "to_sparse_semi_structured",
]  # fmt: skip


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """Matrix product of which one side, or both, is sparse; the gradient of a sparse side has its indices.

    Parameters
    ----------
    mat1, mat2
        (n, k) and (k, m). Two sparse ones have a sparse product.
    reduce
        Combine the products of each row of compressed rows by ``"sum"``, ``"mean"``, ``"amax"`` or ``"amin"``.
    """
    if reduce is None:
        return find_overload("_sparse_mm").call(mat1, mat2)  # type: ignore[no-any-return]
    return find_overload("_sparse_mm.reduce").call(mat1, mat2, reduce)  # type: ignore[no-any-return]


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * mat1 @ mat2`` with a sparse `mat1`."""
    return find_overload("_sparse_addmm").call(input, mat1, mat2, beta, alpha)  # type: ignore[no-any-return]


def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0, out: Tensor | None = None
) -> Tensor:
    """``alpha * mat1 @ mat2`` at the indices of compressed rows `input`, and ``beta * input``."""
    made = find_overload("sparse_sampled_addmm").call(input, mat1, mat2, beta, alpha)
    return made if out is None else out.copy_(made)  # type: ignore[no-any-return]


def sum(input: Tensor, dim: int | Sequence[int] | None = None, dtype: Any = None) -> Tensor:
    """The sum of all values, or over dimensions: dense where no sparse dimension is left."""
    if dim is None:
        if dtype is None:
            return find_overload("_sparse_sum").call(input)  # type: ignore[no-any-return]
        return find_overload("_sparse_sum.dtype").call(input, dtype)  # type: ignore[no-any-return]
    dims = [dim] if isinstance(dim, int) else list(dim)
    if dtype is not None:
        return find_overload("_sparse_sum.dim_dtype").call(input, dims, dtype)  # type: ignore[no-any-return]
    return find_overload("_sparse_sum.dim").call(input, dims)  # type: ignore[no-any-return]


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Softmax of what has indices: all other elements count as minus infinity."""
    return find_overload("_sparse_softmax.int").call(input, dim, dtype)  # type: ignore[no-any-return]


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`."""
    return find_overload("_sparse_log_softmax.int").call(input, dim, dtype)  # type: ignore[no-any-return]


def spdiags(diagonals: Tensor, offsets: Tensor, shape: tuple[int, int], layout: Layout | None = None) -> Tensor:
    """A matrix whose diagonals are the rows of `diagonals`, counted by `offsets` from the main one.

    A diagonal above the main one begins with its element number `offset`, as SciPy's ``spdiags``.

    Raises
    ------
    RuntimeError
        For offsets that come twice, and numbers of rows that differ.
    """
    rows = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    wanted = offsets.reshape(-1)
    if rows.dim() != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if wanted.dtype is not dtypes.int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {ops_name(wanted)}")
    if rows.shape[0] != wanted.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({rows.shape[0]}) does not match the number of offsets ({wanted.shape[0]})"
        )
    if int(wanted.unique().numel()) != int(wanted.numel()):
        raise RuntimeError("Offset tensor contains duplicate values")
    if layout is not None and layout not in (sparse_coo, sparse_csr, sparse_csc):
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsr, SparseCsc) are supported, got {layout!r}")
    n_rows, n_columns = shape
    indices: list[Tensor] = []
    values: list[Tensor] = []
    for row, offset in zip(rows, wanted.tolist(), strict=True):
        first = max(offset, 0)
        last = min(n_columns, n_rows + offset, int(row.shape[0]))
        columns = ops.arange(first, max(last, first), device=row.device)
        indices.append(ops.stack([columns - offset, columns]))
        values.append(row[first : max(last, first)])
    made: Any = find_overload("sparse_coo_tensor.indices_size").call(
        ops.cat(indices, 1), ops.cat(values), list(shape), None, None, None, None, None
    )
    return made if layout in (None, sparse_coo) else made.to_sparse(layout=layout)  # type: ignore[no-any-return]


def ops_name(tensor: Tensor) -> str:
    return dtypes.scalar_type_name(tensor.dtype)


def spsolve(*args: Any, **kwargs: Any) -> Tensor:
    """Refused, as by PyTorch on the CPU.

    Raises
    ------
    NotImplementedError
    """
    raise NotImplementedError("torch.sparse.spsolve is not supported: make the matrix dense, and call linalg.solve")


def to_sparse_semi_structured(*args: Any, **kwargs: Any) -> Tensor:
    """Refused: the layout is for kernels of NVIDIA's.

    Raises
    ------
    NotImplementedError
    """
    raise NotImplementedError("semi-structured sparse tensors (2:4) are not supported")


def as_sparse_gradcheck(gradcheck: Any) -> Any:
    """``torch.autograd.gradcheck``, or a function that takes its arguments, for sparse inputs and results.

    The check that is returned takes `masked`: whether of sparse inputs only the elements count that they hold.
    """
    return with_sparse_support(gradcheck)
