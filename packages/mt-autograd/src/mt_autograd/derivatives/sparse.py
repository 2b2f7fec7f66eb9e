"""Derivatives of what makes, changes and multiplies sparse tensors. Gradients of sparse tensors are sparse."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.decomp import _compressed
from mt_core.decomp.sparse_products import matrix_parts
from mt_core.dispatch.registry import find_overload
from mt_core.sparse.tensors import is_sparse

from ..rules import derivative, joint_derivative, non_differentiable


def _of_values(grad: Any, indices: Any, sparse_dim: int) -> Any:
    """The gradient at the indices, whether it is sparse or not."""
    if is_sparse(grad):
        size = list(grad.shape)
        zeros = grad._array.values.new_zeros((indices.shape[1], *size[sparse_dim:]))
        mask = find_overload("_sparse_coo_tensor_unsafe").call(indices, zeros, size, None, None, None, None, False)
        return grad.sparse_mask(mask)._values()
    return grad[tuple(indices)] if sparse_dim else grad.unsqueeze(0).expand(indices.shape[1], *grad.shape)


derivative("_sparse_coo_tensor_with_dims_and_tensors", values=_of_values)


def _of_compressed_values(grad: Any, result: Any, values_spec: Any) -> Any:
    picked = grad.sparse_mask(result) if not is_sparse(grad) or grad.layout is not result.layout else grad
    return picked.values().reshape(values_spec.shape)


derivative("_sparse_compressed_tensor_unsafe", values=_of_compressed_values)


def _to_values(grad: Any, self: Any) -> Any:
    """The gradient of the values as that of the whole, at its indices."""
    array = self._array
    if not hasattr(array, "indices"):
        return _compressed.with_values(array, grad.detach() if not grad.requires_grad else grad)
    return find_overload("_sparse_coo_tensor_unsafe").call(
        array.indices, grad, list(array.shape), None, None, None, None, array.is_coalesced
    )


derivative("values", self=_to_values)
derivative("_coalesce", self=lambda grad: grad)
derivative(
    "_to_dense",
    self=lambda grad, self, masked_grad: find_overload("to_dense_backward").call(grad, self, masked_grad),
)


def _dense(grad: Any) -> Any:
    return grad.to_dense() if is_sparse(grad) else grad


for _name in ("_to_sparse", "_to_sparse.sparse_dim", "_to_sparse_csr", "_to_sparse_csc"):
    derivative(_name, self=lambda grad, self: grad.to_sparse(layout=self.layout) if is_sparse(self) else _dense(grad))
derivative("sparse_mask", self=lambda grad, self: _masked(grad, self) if is_sparse(self) else _dense(grad))
derivative(
    "embedding_sparse_backward",
    grad=lambda grad, indices: _dense(grad).index_select(0, indices.reshape(-1)).reshape(*indices.shape, -1),
)
non_differentiable(
    "_coalesced_", "_indices", "_values", "indices", "crow_indices", "col_indices", "ccol_indices", "row_indices",
    "_sparse_coo_tensor_with_dims", "sparse_resize_", "sparse_resize_and_clear_",
)  # fmt: skip


# Products


def _addmm_left(grad: Any, mat1: Any, mat2: Any, alpha: Any) -> Any:
    if not is_sparse(mat1):
        return grad.mm(mat2.conj().t()) * alpha
    mask = mat1.coalesce() if hasattr(mat1._array, "indices") else mat1
    return grad.mm(mat2.conj().t()).sparse_mask(mask) * alpha


def _addmm_right(grad: Any, mat1: Any, alpha: Any) -> Any:
    product = find_overload("_sparse_mm").call(mat1.conj_physical().t() if mat1.is_complex() else mat1.t(), grad)
    return product if alpha == 1 else product * alpha


derivative(
    "_sparse_addmm",
    self=lambda grad, beta: grad * beta,
    mat1=_addmm_left,
    mat2=_addmm_right,
)


def _masked(grad: Any, like: Any) -> Any:
    return grad.sparse_mask(like.coalesce() if hasattr(like._array, "indices") else like)


def _adjoint(tensor: Any) -> Any:
    return (tensor.conj_physical() if tensor.is_complex() else tensor).t()


derivative(
    "_sparse_sparse_matmul",
    self=lambda grad, self, other: _masked(find_overload("_sparse_mm").call(grad, _adjoint(other)), self),
    other=lambda grad, self, other: _masked(find_overload("_sparse_mm").call(_adjoint(self), grad), other),
)


def _sampled_left(grad: Any, self: Any, mat2: Any, alpha: Any) -> Any:
    return find_overload("matmul").call(_dense(grad.sparse_mask(self)), mat2.mH) * alpha


def _sampled_right(grad: Any, self: Any, mat1: Any, alpha: Any) -> Any:
    return find_overload("matmul").call(mat1.mH, _dense(grad.sparse_mask(self))) * alpha


derivative("sparse_sampled_addmm", self=lambda grad, beta: grad * beta, mat1=_sampled_left, mat2=_sampled_right)


def _by_rows(grads: Any, mask: Any, self: Any, other: Any, reduce: str, result1: Any) -> Any:
    """The gradients of both sides of a product whose rows are combined."""
    grad = grads[0]
    if grad is None:
        return None, None
    rows, columns, values = matrix_parts(self)
    if reduce == "mean":
        grad = grad / self._array.pointers.diff().clamp(min=1).unsqueeze(1).to(grad.dtype)
    given = grad.index_select(0, rows)
    if reduce in ("amax", "amin"):
        places = ops.arange(int(values.numel()), device=values.device).unsqueeze(1)
        given = given * (result1.index_select(0, rows) == places)
    left = (given * other.index_select(0, columns)).sum(1) if mask[0] else None
    right = other.new_zeros(other.shape).index_add(0, columns, given * values.unsqueeze(1)) if mask[1] else None
    return (None if left is None else _compressed.with_values(self._array, left)), right


joint_derivative("_sparse_mm_reduce_impl", ("self", "other"), _by_rows, differentiable_outputs=(True, False))

# Sums and softmax

derivative(
    "_sparse_sum.dim", self=lambda grad, self, dim: find_overload("_sparse_sum_backward").call(grad, self, list(dim))
)


def _softmax_rule(name: str) -> None:
    backward = find_overload(f"{name}_backward_data")
    derivative(name, self=lambda grad, result, dim, self: backward.call(grad, result, dim, self))


_softmax_rule("_sparse_softmax")
_softmax_rule("_sparse_log_softmax")
