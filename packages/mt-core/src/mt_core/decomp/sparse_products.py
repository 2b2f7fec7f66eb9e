"""Products of which one side or both are sparse, and products at the indices of a sparse tensor."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import find_overload
from ..dispatch.registry import register_composite as composite
from ..errors import no_kernel
from ..formats import sparse_csr
from ..layout import broadcast_shapes
from ..sparse.tensors import Compressed, coordinates, is_coo, is_sparse
from ..tensor import Tensor
from . import _compressed
from .sparse import check_within


def matrix_parts(tensor: Any) -> tuple[Any, Any, Any]:
    """Rows, columns and values of a sparse matrix."""
    array = tensor._array
    if isinstance(array, Compressed):
        indices, values = _compressed.indices_of(array), array.values
    else:
        indices, values = array.indices, array.values
        check_within(indices, array.shape[: array.sparse_dim])
    if indices.shape[0] != 2 or values.ndim != 1:
        raise RuntimeError(
            f"expected a matrix with two sparse and no dense dimensions, but got {indices.shape[0]} sparse and "
            f"{values.ndim - 1} dense dimensions"
        )
    return indices[0], indices[1], values


def _check_sizes(name: str, a: Any, b: Any) -> None:
    if a.dim() != 2 or b.dim() != 2:
        raise RuntimeError(f"{name}: expected two matrices, got {a.dim()} and {b.dim()} dimensions")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )


def sparse_by_dense(sparse: Any, dense: Tensor) -> Tensor:
    """(n, k) sparse by (k, m) -> (n, m)."""
    rows, columns, values = matrix_parts(sparse)
    out = dense.new_zeros((sparse.shape[0], dense.shape[1]))
    if values.numel():
        out.index_add_(0, rows, values.unsqueeze(1) * dense.index_select(0, columns))
    return out


def product(a: Any, b: Any) -> Any:
    """Matrix product of which at least one side is sparse; sparse where both are."""
    _check_sizes("mm", a, b)
    if a.dtype is not b.dtype:
        raise RuntimeError(f"mm: expected both matrices to have one dtype, but got {a.dtype} and {b.dtype}")
    if is_sparse(a) and is_sparse(b):
        return _sparse_sparse_matmul(a, b)
    if is_sparse(a):
        return sparse_by_dense(a, b)
    return sparse_by_dense(b.t(), a.t()).t()


@composite("_sparse_mm")
def _sparse_mm(sparse: Any, dense: Any) -> Any:
    """As PyTorch, by `_sparse_addmm` of zeros, or by a product of two sparse matrices."""
    if is_sparse(sparse) and is_sparse(dense):
        return find_overload("_sparse_sparse_matmul").call(sparse, dense)
    _check_sizes("mm", sparse, dense)
    addmm = find_overload("_sparse_addmm")
    if is_sparse(sparse):
        zeros = ops.zeros((sparse.shape[-2], dense.shape[-1]), dtype=dense.dtype, device=dense.device)
        return addmm.call(zeros, sparse, dense, 0, 1)
    zeros = ops.zeros((dense.shape[-1], sparse.shape[-2]), dtype=sparse.dtype, device=sparse.device)
    return addmm.call(zeros, dense.transpose(-2, -1), sparse.transpose(-2, -1), 0, 1).transpose(-2, -1)


@composite("_sparse_addmm", explicit=True)
def _sparse_addmm(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    if is_sparse(self):
        raise RuntimeError("addmm: a sparse self is for sspaddmm; expected a dense one")
    _check_sizes("addmm", mat1, mat2)
    if not is_sparse(mat1) and not is_sparse(mat2):
        return ops.addmm(self, mat1, mat2, beta=beta, alpha=alpha)
    made = product(mat1, mat2)
    if is_sparse(made):
        made = made.to_dense()
    scaled = made if alpha == 1 else made * alpha
    if not beta:
        shape = broadcast_shapes([tuple(self.shape), tuple(made.shape)])
        return scaled.expand(shape).clone() if tuple(shape) != tuple(scaled.shape) else scaled
    return scaled + (self if beta == 1 else self * beta)


@composite("_sparse_sparse_matmul", explicit=True)
def _sparse_sparse_matmul(self: Any, other: Any) -> Any:
    """Each value of the left meets the right's row of its column; the products at one place are added up."""
    _check_sizes("sparse_mm", self, other)
    rows, columns, values = matrix_parts(self.coalesce() if is_coo(self) else self)
    right = _compressed.compress(other, sparse_csr)._array
    begins = right.pointers.to(dtypes.int64)
    counts = begins.diff().index_select(0, columns)
    total = int(counts.sum())
    which = ops.arange(int(values.numel()), device=values.device).repeat_interleave(counts)
    within = ops.arange(total, device=values.device) - (counts.cumsum(0) - counts).index_select(0, which)
    at = begins.index_select(0, columns.index_select(0, which)) + within
    products = values.index_select(0, which) * right.values.index_select(0, at)
    indices = ops.stack([rows.index_select(0, which), right.plain.to(dtypes.int64).index_select(0, at)])
    made = coordinates(indices, products, (self.shape[0], other.shape[1])).coalesce()  # type: ignore[attr-defined]
    return _compressed.compress(made, self.layout) if isinstance(self._array, Compressed) else made


@composite("smm")
def smm(self: Any, mat2: Any) -> Any:
    """As coordinates: each row of the product that has any value is there as a whole."""
    nothing = self.new_zeros((self.shape[0], mat2.shape[1])) if not is_sparse(self) else None
    if nothing is not None:
        raise no_kernel("smm: expected a sparse left side")
    empty = find_overload("_sparse_coo_tensor_with_dims").call(
        2, 0, [self.shape[0], mat2.shape[1]], self.dtype, None, self.device, None
    )
    return find_overload("sspaddmm").call(empty, self, mat2, 0, 1)


@composite("hspmm", explicit=True)
def hspmm(mat1: Any, mat2: Any) -> Any:
    """(n, k) by (k, m): coordinates of the rows that are not zero, with m dense elements each."""
    _check_sizes("hspmm", mat1, mat2)
    rows = matrix_parts(mat1.coalesce())[0]
    filled = rows.unique()
    made = sparse_by_dense(mat1, mat2)
    return coordinates(filled.unsqueeze(0), made.index_select(0, filled), tuple(made.shape))


@composite("sspaddmm", explicit=True)
def sspaddmm(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    """The coordinates of `self`, then those of the product; nothing is added up."""
    if not is_sparse(self) or not is_sparse(mat1):
        raise no_kernel("sspaddmm: expected a sparse self and a sparse mat1")
    _check_sizes("sspaddmm", mat1, mat2)
    product_rows = hspmm(mat1, mat2)._array
    width = int(mat2.shape[1])
    rows = product_rows.indices[0].repeat_interleave(width)
    columns = ops.arange(width, device=rows.device).repeat(int(product_rows.indices.shape[1]))
    indices = ops.cat([self._array.indices, ops.stack([rows, columns])], 1)
    values = ops.cat([self._array.values * beta, product_rows.values.reshape(-1) * alpha])
    return coordinates(indices, values, self.shape)


# By rows


@composite("_sparse_mm.reduce")
def _sparse_mm_reduce(sparse: Any, dense: Any, reduce: str) -> Any:
    return find_overload("_sparse_mm_reduce_impl").call(sparse, dense, reduce)[0]


@composite("_sparse_mm_reduce_impl", explicit=True)
def _sparse_mm_reduce_impl(self: Any, other: Any, reduce: str) -> tuple[Any, Any]:
    """(n, k) compressed rows by (k, m) -> (n, m), and for amax and amin which value won: its place, or the count.

    Raises
    ------
    RuntimeError
        For other layouts and other ways to combine products.
    """
    array = self._array
    if not isinstance(array, Compressed) or array.layout is not sparse_csr:
        kind = "SparseCPU" if is_coo(self) else "CPU"
        raise no_kernel(f"Could not run 'aten::_sparse_mm_reduce_impl' with arguments from the '{kind}' backend.")
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    _check_sizes("sparse_mm_reduce", self, other)
    rows, columns, values = matrix_parts(self)
    products = values.unsqueeze(1) * other.index_select(0, columns)
    n = int(self.shape[0])
    out = other.new_zeros((n, other.shape[1]))
    if reduce in ("sum", "mean"):
        out.index_add_(0, rows, products)
        if reduce == "mean":
            out = out / array.pointers.diff().clamp(min=1).unsqueeze(1).to(out.dtype)
        return out, other.new_zeros((0,), dtype=dtypes.int64)
    out = out.index_reduce(0, rows, products, reduce, include_self=False)
    count = int(values.numel())
    places = ops.full_like(out, count, dtype=dtypes.int64)
    order = ops.arange(count, device=rows.device).unsqueeze(1).expand(products.shape)
    won = ops.where(products == out.index_select(0, rows), order, count)
    return out, places.index_reduce(0, rows, won, "amin")


@composite("_sparse_mm_reduce_impl_backward", explicit=True)
def _sparse_mm_reduce_impl_backward(
    self: Any, grad_out: Any, weight: Any, reduce: str, arg_out: Any, output_mask: Any
) -> tuple[Any, Any]:
    """grad_out (n, m) -> the gradients of both sides; of amax and amin, what won has it all."""
    rows, columns, values = matrix_parts(self)
    grad = grad_out
    if reduce == "mean":
        grad = grad / self._array.pointers.diff().clamp(min=1).unsqueeze(1).to(grad.dtype)
    given = grad.index_select(0, rows)
    if reduce in ("amax", "amin"):
        places = ops.arange(int(values.numel()), device=values.device).unsqueeze(1)
        given = given * (arg_out.index_select(0, rows) == places)
    left = right = None
    if output_mask[0]:
        left = _compressed.with_values(self._array, (given * weight.index_select(0, columns)).sum(1))
    if output_mask[1]:
        right = weight.new_zeros(weight.shape).index_add(0, columns, given * values.unsqueeze(1))
    return left, right


# At the indices of a sparse tensor


@composite("sparse_sampled_addmm", explicit=True)
def sparse_sampled_addmm(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    """(*, n, m) compressed rows, (*, n, k), (*, k, m)."""
    array = self._array
    if not isinstance(array, Compressed) or array.layout is not sparse_csr:
        kind = "SparseCPU" if is_coo(self) else "CPU"
        raise no_kernel(f"Could not run 'aten::sparse_sampled_addmm' with arguments from the '{kind}' backend.")
    for name, matrix in (("mat1", mat1), ("mat2", mat2)):
        if is_sparse(matrix):
            raise RuntimeError(f"Expected {name} to have strided layout, but got {matrix.layout}")
    if mat1.shape[-1] != mat2.shape[-2]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({mat1.shape[-2]}x{mat1.shape[-1]} and "
            f"{mat2.shape[-2]}x{mat2.shape[-1]})"
        )
    if self.shape[-2] != mat1.shape[-2]:
        raise RuntimeError(f"self dim 0 must match mat1 dim 0: {self.shape[-2]} and {mat1.shape[-2]}")
    if self.shape[-1] != mat2.shape[-1]:
        raise RuntimeError(f"self dim 1 must match mat2 dim 1: {self.shape[-1]} and {mat2.shape[-1]}")
    where = tuple(_compressed.indices_of(array))
    left = mat1[(*where[:-2], where[-2])]
    right = mat2.transpose(-2, -1)[(*where[:-2], where[-1])]
    sampled = (left * right).sum(-1).reshape(array.values.shape)
    scaled = sampled if alpha == 1 else sampled * alpha
    kept = array.values if beta == 1 else array.values * beta
    return _compressed.with_values(array, scaled + kept if beta else scaled)
