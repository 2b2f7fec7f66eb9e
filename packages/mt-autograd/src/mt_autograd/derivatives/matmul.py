"""Derivatives of products."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.dispatch.registry import find_overload

from ..rules import derivative, forward_rule, non_differentiable, real_only
from ._conjugate import conj
from ._refused import refused_operator


def _h(matrix: Any) -> Any:
    """Conjugate transpose of the last two dimensions."""
    return matrix.transpose(-2, -1).conj() if matrix.is_complex() else matrix.transpose(-2, -1)


def _scaled(tensor: Any, factor: Any) -> Any:
    if factor == 1:
        return tensor
    return tensor * (factor.conjugate() if isinstance(factor, complex) else factor)


def _every(batch: Any, grad: Any) -> tuple[int, ...]:
    """Shape of one gradient for each matrix of a batch."""
    return batch.shape[0], *grad.shape


def _by_columns(spec: Any) -> bool:
    """Whether a matrix lies in memory column after column: its gradient does so, too."""
    return tuple(spec.stride()) == (1, spec.shape[0])


def _left(grad: Any, spec: Any, right: Any) -> Any:
    """Gradient of the left matrix of a product, in its order of memory."""
    return conj(right).mm(grad.t()).t() if _by_columns(spec) else grad.mm(_h(right))


def _right(grad: Any, spec: Any, left: Any) -> Any:
    """Gradient of the right matrix of a product, in its order of memory."""
    return grad.t().mm(conj(left)).t() if _by_columns(spec) else _h(left).mm(grad)


derivative(
    "mm",
    self=lambda grad, self_spec, mat2: _left(grad, self_spec, mat2),
    mat2=lambda grad, self, mat2_spec: _right(grad, mat2_spec, self),
)
derivative(
    "bmm",
    self=lambda grad, mat2: grad.bmm(_h(mat2)),
    mat2=lambda grad, self: _h(self).bmm(grad),
)
derivative(
    "mv",
    self=lambda grad, vec: ops.outer(grad, conj(vec)),
    vec=lambda grad, self: _h(self).mv(grad),
)
derivative(
    "dot",
    self=lambda grad, tensor: grad * conj(tensor),
    tensor=lambda grad, self: grad * conj(self),
)
derivative(
    "vdot",
    self=lambda grad, other: conj(grad) * other,
    other=lambda grad, self: grad * self,
)
derivative(
    "addmm",
    self=lambda grad, beta: _scaled(grad, beta),
    mat1=lambda grad, mat1_spec, mat2, alpha: _scaled(_left(grad, mat1_spec, mat2), alpha),
    mat2=lambda grad, mat1, mat2_spec, alpha: _scaled(_right(grad, mat2_spec, mat1), alpha),
)
derivative(
    "addmv",
    self=lambda grad, beta: _scaled(grad, beta),
    mat=lambda grad, vec, alpha: _scaled(ops.outer(grad, conj(vec)), alpha),
    vec=lambda grad, mat, alpha: _scaled(_h(mat).mv(grad), alpha),
)
derivative(
    "addbmm",
    self=lambda grad, beta: _scaled(grad, beta),
    batch1=lambda grad, batch1_spec, batch2, alpha: _scaled(
        grad.expand(_every(batch1_spec, grad)).bmm(_h(batch2)), alpha
    ),
    batch2=lambda grad, batch1, alpha: _scaled(_h(batch1).bmm(grad.expand(_every(batch1, grad))), alpha),
)
derivative(
    "baddbmm",
    self=lambda grad, beta: _scaled(grad, beta),
    batch1=lambda grad, batch2, alpha: _scaled(grad.bmm(_h(batch2)), alpha),
    batch2=lambda grad, batch1, alpha: _scaled(_h(batch1).bmm(grad), alpha),
)


derivative(
    "_linear_of_rows",
    node="AddmmBackward0",
    bias=lambda grad: grad.sum((0,)),
    input=lambda grad, weight: grad.mm(conj(weight)),
    weight=lambda grad, input: grad.t().mm(conj(input)),
)
derivative(
    "addr",
    self=lambda grad, beta: _scaled(grad, beta),
    vec1=lambda grad, vec2, alpha: _scaled(grad.mv(conj(vec2)), alpha),
    vec2=lambda grad, vec1, alpha: _scaled(grad.t().mv(conj(vec1)), alpha),
)

non_differentiable("_int_mm")
refused_operator("_addmm_activation", "self", "mat1", "mat2")


def _bilinear_weight(grad: Any, input1: Any, input2: Any) -> Any:
    products = input1.unsqueeze(2) * input2.unsqueeze(1)
    sizes = grad.shape[1], input1.shape[1], input2.shape[1]
    return grad.t().mm(products.reshape(grad.shape[0], sizes[1] * sizes[2])).view(sizes)


def _rows(left: Any, right: Any, weight: Any) -> Any:
    return find_overload("_trilinear.of_rows").call(left, right, weight)


derivative(
    "_trilinear.of_rows",
    input1=lambda grad, input2, weight: _rows(grad, input2, weight.transpose(0, 1)),
    input2=lambda grad, input1, weight: _rows(grad, input1, weight.permute((2, 0, 1))),
    weight=_bilinear_weight,
)
real_only("_trilinear.of_rows")

forward_rule("multilinear", "mm", "bmm", "mv", "dot", "vdot", "_trilinear.of_rows")

forward_rule(
    {
        "bias": lambda t: t,
        "input": lambda t, weight: t.mm(weight.t()),
        "weight": lambda t, input: input.mm(t.t()),
    },
    "_linear_of_rows",
)
forward_rule(
    {
        "self": lambda t, beta: t * beta,
        "mat1": lambda t, mat2, alpha: t.mm(mat2) * alpha,
        "mat2": lambda t, mat1, alpha: mat1.mm(t) * alpha,
    },
    "addmm",
)
forward_rule(
    {
        "self": lambda t, beta: t * beta,
        "batch1": lambda t, batch2, alpha: t.bmm(batch2) * alpha,
        "batch2": lambda t, batch1, alpha: batch1.bmm(t) * alpha,
    },
    "baddbmm",
)
