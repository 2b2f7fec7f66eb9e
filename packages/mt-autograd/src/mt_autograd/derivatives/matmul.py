"""Derivatives of products."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.dispatch.registry import find_overload

from ..rules import derivative, forward_rule, non_differentiable, real_only
from ._conjugate import conj
from ._refused import refused_operator

_linear_of_rows = find_overload("_linear_of_rows")


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


def _weight(grad: Any, spec: Any, input: Any) -> Any:
    """Gradient of the matrix whose transpose is the right one of a product, in its order of memory."""
    by_rows = tuple(spec.stride()) == (spec.shape[1], 1)
    return grad.t().mm(conj(input)) if by_rows else _h(input).mm(grad).t()


derivative(
    "_linear_of_rows",
    node="AddmmBackward0",
    bias=lambda grad: grad.sum((0,)),
    input=lambda grad, input_spec, weight: _left(grad, input_spec, weight.t()),
    weight=lambda grad, input, weight_spec: _weight(grad, weight_spec, input),
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


def _summed(terms: list[Any], beta: Any, alpha: Any, of: Any, added: Any) -> Any:
    """beta * first + alpha * (products of the pairs that follow); of these, None counts nothing.

    A product is added to what there is by one operator, `added`; `of` is the product alone.
    """
    total, *pairs = terms
    for left, right in pairs:
        if left is None or right is None:
            continue
        if total is None:
            total = of(left, right) if alpha == 1 else of(left, right) * alpha
        else:
            total = added(total, left, right, beta=beta, alpha=alpha)
        beta = 1
    return total if total is None or beta == 1 else total * beta


def _linear_tangent(bias_t: Any, input_t: Any, weight_t: Any, input: Any, weight: Any) -> Any:
    if bias_t is not None and weight_t is not None:
        moved = _linear_of_rows.call(bias_t, input, weight_t)
        return moved if input_t is None else ops.addmm(moved, input_t, weight.t())
    if bias_t is not None and input_t is not None:
        return _linear_of_rows.call(bias_t, input_t, weight)
    pairs = [(input, None if weight_t is None else weight_t.t()), (input_t, weight.t())]
    return _summed([bias_t, *pairs], 1, 1, ops.mm, ops.addmm)


forward_rule(_linear_tangent, "_linear_of_rows")
forward_rule(
    lambda self_t, mat1_t, mat2_t, mat1, mat2, beta, alpha: _summed(
        [self_t, (mat1_t, mat2), (mat1, mat2_t)], beta, alpha, ops.mm, ops.addmm
    ),
    "addmm",
)
forward_rule(
    lambda self_t, batch1_t, batch2_t, batch1, batch2, beta, alpha: _summed(
        [self_t, (batch1_t, batch2), (batch1, batch2_t)], beta, alpha, ops.bmm, ops.baddbmm
    ),
    "baddbmm",
)
