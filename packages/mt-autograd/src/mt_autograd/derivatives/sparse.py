"""Derivatives of what makes, changes and multiplies sparse tensors. Gradients of sparse tensors are sparse."""

from __future__ import annotations

from typing import Any

from mt_core.dispatch.registry import find_overload
from mt_core.sparse.tensors import is_coo, is_sparse

from ..rules import derivative, joint_derivative, non_differentiable
from ._refused import refused_operator


def _dense(grad: Any) -> Any:
    return grad.to_dense() if is_sparse(grad) else grad


def _masked(grad: Any, like: Any) -> Any:
    """The gradient at the indices of a tensor, of which nothing else counts."""
    mask = like.detach()
    return grad.sparse_mask(mask.coalesce() if is_coo(mask) else mask)


def _of_values(grad: Any, indices: Any, sparse_dim: int) -> Any:
    """The gradient at the indices, whether it is sparse or not."""
    if is_sparse(grad) and not grad.requires_grad:
        size = list(grad.shape)
        zeros = grad._array.values.new_zeros((indices.shape[1], *size[sparse_dim:]))
        mask = find_overload("_sparse_coo_tensor_unsafe").call(indices, zeros, size, None, None, None, None, False)
        return grad.sparse_mask(mask)._values()
    whole = _dense(grad)  # one with a history keeps it
    return whole[tuple(indices)] if sparse_dim else whole.unsqueeze(0).expand(indices.shape[1], *whole.shape)


derivative("_sparse_coo_tensor_with_dims_and_tensors", values=_of_values)


def _at_one_place(a: Any, b: Any) -> bool:
    """Whether two tensors of one compressed layout have the same indices."""
    pairs = ((a.pointers, b.pointers), (a.plain, b.plain))
    return all(x is y or x.shape == y.shape and bool(x.equal(y)) for x, y in pairs)


def _of_compressed_values(grad: Any, result: Any, values_spec: Any) -> Any:
    if is_sparse(grad) and grad.layout is result.layout and _at_one_place(grad._array, result._array):
        picked = grad
    else:
        picked = _masked(_dense(grad), result)
    return picked.values().reshape(values_spec.shape)


derivative("_sparse_compressed_tensor_unsafe", values=_of_compressed_values)


def _to_values(grad: Any, self: Any) -> Any:
    """The gradient of the values as that of the whole, at its indices."""
    array = self._array
    if is_coo(self):
        return find_overload("_sparse_coo_tensor_unsafe").call(
            array.indices, grad, list(array.shape), None, None, None, None, array.is_coalesced
        )
    return find_overload("_sparse_compressed_tensor_unsafe").call(
        array.pointers, array.plain, grad, list(array.shape), None, array.layout, None, None
    )


derivative("values", self=_to_values)
derivative("_coalesce", self=lambda grad: grad)
derivative(
    "_to_dense",
    self=lambda grad, self, masked_grad: find_overload("to_dense_backward").call(grad, self, masked_grad),
)


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
    product = grad.mm(mat2.conj().t())
    return (_masked(product, mat1) if is_sparse(mat1) else product) * alpha


def _addmm_right(grad: Any, mat1: Any, alpha: Any) -> Any:
    product = find_overload("_sparse_mm").call(mat1.conj_physical().t() if mat1.is_complex() else mat1.t(), grad)
    return product if alpha == 1 else product * alpha


derivative(
    "_sparse_addmm",
    self=lambda grad, beta: grad * beta,
    mat1=_addmm_left,
    mat2=_addmm_right,
)


def _adjoint(tensor: Any) -> Any:
    return (tensor.conj_physical() if tensor.is_complex() else tensor).t()


derivative(
    "_sparse_sparse_matmul",
    self=lambda grad, self, other: _masked(find_overload("_sparse_mm").call(grad, _adjoint(other)), self),
    other=lambda grad, self, other: _masked(find_overload("_sparse_mm").call(_adjoint(self), grad), other),
)


def _sampled_left(grad: Any, self: Any, mat2: Any, alpha: Any) -> Any:
    return find_overload("matmul").call(_dense(_masked(grad, self)), mat2.mH) * alpha


def _sampled_right(grad: Any, self: Any, mat1: Any, alpha: Any) -> Any:
    return find_overload("matmul").call(mat1.mH, _dense(_masked(grad, self))) * alpha


derivative("sparse_sampled_addmm", self=lambda grad, beta: grad * beta, mat1=_sampled_left, mat2=_sampled_right)


def _by_rows(grads: Any, mask: Any, self: Any, other: Any, reduce: str, result1: Any) -> Any:
    if grads[0] is None:
        return None, None
    return find_overload("_sparse_mm_reduce_impl_backward").call(self, grads[0], other, reduce, result1, list(mask))


joint_derivative("_sparse_mm_reduce_impl", ("self", "other"), _by_rows, differentiable_outputs=(True, False))

# Sums and softmax

_sum_backward = find_overload("_sparse_sum_backward")
derivative("_sparse_sum.dim", self=lambda grad, self, dim: _sum_backward.call(grad, self.detach(), list(dim)))


def _softmax_rule(name: str) -> None:
    backward = find_overload(f"{name}_backward_data")
    derivative(name, self=lambda grad, result, dim, self: backward.call(grad, result, dim, self.detach()))


_softmax_rule("_sparse_softmax")
_softmax_rule("_sparse_log_softmax")
refused_operator("_sparse_softmax_backward_data", "grad_output", "output")
refused_operator("_sparse_log_softmax_backward_data", "grad_output", "output")
refused_operator("_sparse_sum_backward", "grad")
refused_operator("_sparse_mm_reduce_impl_backward", "self", "grad_out", "weight")
refused_operator("hspmm", "mat1", "mat2")
refused_operator("sspaddmm", "self", "mat1", "mat2")
