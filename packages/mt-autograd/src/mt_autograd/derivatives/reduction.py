"""Derivatives of reductions."""

from __future__ import annotations

import math
from typing import Any

from mt_core.api import _functions as ops
from mt_core.autograd_state import is_grad_enabled
from mt_core.cell import cell_of
from mt_core.hollow import has_elements
from mt_core.shape_rules.reduction import reduced_dims
from mt_core.state import tls

from ..rules import derivative, forward_rule, non_differentiable, real_only, refuse_integers
from ._conjugate import conj
from ._written import written


def restore(tensor: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    """A reduced tensor with its reduced dimensions back, as size 1."""
    if keepdim or not shape:
        return tensor
    dims = reduced_dims(dim, len(shape))
    return tensor.reshape([1 if i in dims else n for i, n in enumerate(shape)])


def _spread(grad: Any, spec: Any, dim: Any, keepdim: bool) -> Any:
    return restore(grad, spec.shape, dim, keepdim).expand(spec.shape)


def _count(spec: Any, dim: Any) -> int:
    return math.prod(spec.shape[d] for d in reduced_dims(dim, len(spec.shape)))


derivative("sum", self=lambda grad, self_spec: grad.expand(self_spec.shape))
derivative("sum.dim_IntList", self=lambda grad, self_spec, dim, keepdim: _spread(grad, self_spec, dim, keepdim))
derivative(
    "nansum",
    self=lambda grad, self, dim, keepdim: _spread(grad.to(self.dtype), self, dim, keepdim) * ~self.isnan(),
)
derivative("mean", self=lambda grad, self_spec: grad.expand(self_spec.shape) / self_spec.numel())
derivative(
    "mean.dim",
    self=lambda grad, self_spec, dim, keepdim: _spread(grad, self_spec, dim, keepdim) / _count(self_spec, dim),
)


def product_of_others(self: Any, dim: int) -> Any:
    """For each element, the product of all others along a dimension: exact where some are zero."""
    ones = ops.ones_like(self.narrow(dim, 0, 1))
    size = self.shape[dim]
    before = ops.cat([ones, self.narrow(dim, 0, size - 1)], dim).cumprod(dim)
    after = ops.cat([ones, self.narrow(dim, 1, size - 1).flip((dim,))], dim)
    return before * after.cumprod(dim).flip((dim,))


def _prod_all(grad: Any, self: Any, result: Any) -> Any:
    """The product divided by each element; with zeros the product of the others, or 0 where two elements are zero."""
    if not self.dim():
        return grad
    self = self.to(grad.dtype)
    zeros = _count_of_zeros(self)
    if zeros == 0:
        return grad * conj(result / self)
    if self.numel() == 1:
        return grad.reshape(self.shape)  # of no others
    if zeros is not None and zeros > 1 and not is_grad_enabled():
        return ops.zeros_like(self)
    return (grad * conj(product_of_others(self.reshape(-1), 0))).reshape(self.shape)


def _prod_dim(grad: Any, self: Any, dim: int, keepdim: bool, result: Any) -> Any:
    if not self.dim():
        return grad
    self = self.to(grad.dtype)
    grad, result = restore(grad, self.shape, dim, keepdim), restore(result, self.shape, dim, keepdim)
    if _count_of_zeros(self) == 0:
        return grad * conj(result / self)
    if self.shape[dim] == 1:
        return grad
    return grad * conj(product_of_others(self, dim))


def _count_of_zeros(elements: Any) -> int | None:
    """How many elements are zero; None where nobody can tell (on meta, of fakes, in transforms)."""
    return None if not has_elements(elements) or tls.transforms else int((elements == 0).sum().item())


derivative("prod", self=_prod_all)
derivative("prod.dim_int", self=_prod_dim)


def _shared_by_equals(grad: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of an extreme value, in equal parts to the elements that have it."""
    extreme = restore(result, self.shape, dim, keepdim)
    mask = self == extreme
    count = mask.sum(reduced_dims(dim, self.dim()), keepdim=True) if self.dim() else mask
    return restore(grad, self.shape, dim, keepdim) / count * mask


for _name in ("amax", "amin"):
    derivative(_name, self=_shared_by_equals)


def _of_both_extremes(grads: Any, self: Any, result0: Any, result1: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of the least and of the largest element."""
    parts = [
        _shared_by_equals(grad, self, result, dim, keepdim)
        for grad, result in zip(grads, (result0, result1), strict=True)
        if grad is not None
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


derivative("aminmax", self=_of_both_extremes)


def shared_by_alike(grad: Any, self: Any, result: Any) -> Any:
    """The gradient of an element of all, in equal parts to the elements that are alike, NaNs too."""
    mask = (self == result) | (self.isnan() & result.isnan())
    share = grad / mask.sum()
    return ops.where(mask, share, 0) if tls.transforms else ops.zeros_like(self).masked_fill_(mask, share)


for _name in ("max", "min"):
    derivative(_name, self=shared_by_alike, node=f"{_name.title()}Backward1")


def at_index(grad: Any, spec: Any, dim: int, index: Any, keepdim: bool) -> Any:
    """Zeros of the input's shape with the gradient at one index of a dimension."""
    if not keepdim and spec.shape:
        grad, index = grad.unsqueeze(dim), index.unsqueeze(dim)
    return written(counted_zeros(grad, spec), "scatter", dim, index, grad)


def counted_zeros(grad: Any, spec: Any) -> Any:
    """Zeros of the input's shape whose version counts how they were made, as PyTorch's does here."""
    zeros = grad.new_zeros(spec.shape)
    cell_of(zeros).version = 1
    return zeros


for _name in ("max", "min"):
    derivative(
        f"{_name}.dim",
        self=lambda grad, self_spec, dim, keepdim, result1: at_index(grad, self_spec, dim, result1, keepdim),
        node=f"{_name.title()}Backward0",
    )
non_differentiable("argmax", "argmin", "any", "any.dim", "any.dims", "all", "all.dim", "all.dims")


def _freedom(self: Any, dim: Any, correction: Any) -> float:
    return _count(self, dim) - (1 if correction is None else correction)


def _variance_factor(self: Any, dim: Any, correction: Any) -> float:
    """Two by the degrees of freedom, as PyTorch counts them: an empty list of dimensions stands for one element."""
    freedom = _freedom(self, dim, correction) if dim else 1 - (1 if correction is None else correction)
    return 2.0 / freedom if freedom else math.inf


def _variance_gradient_of_all(self: Any, centered: Any, freedom: float) -> Any:
    if freedom > 0:
        return centered * (2.0 / freedom)
    return ops.full_like(self, math.inf).masked_fill(centered == 0, math.nan)


def _variance_gradient(grad: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    centered = self - self.mean(dim, keepdim=True)
    if dim is None:
        return grad * _variance_gradient_of_all(self, centered, _freedom(self, dim, correction))
    return _variance_factor(self, dim, correction) * restore(grad, self.shape, dim, keepdim) * centered


def _deviation_gradient(grad: Any, self: Any, result: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    # 0 where the deviation is 0: there it is not differentiable, and the variance's formula would give 0 / 0.
    inner = (grad / (result * 2)).masked_fill(result == 0, 0)
    return _variance_gradient(inner, self, dim, correction, keepdim)


derivative("var.correction", self=_variance_gradient)
derivative("std.correction", self=_deviation_gradient)


def _with_mean_gradient(grads: Any, of_spread: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of a measure of spread, `of_spread`, and of a mean, whose own gradient is the second of `grads`."""
    if grads[1] is None:
        return of_spread
    of_mean = _spread(grads[1], self, dim, keepdim) / _count(self, dim)
    return of_mean if of_spread is None else of_spread + of_mean


def _variance_and_mean(grads: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    of_spread = None if grads[0] is None else _variance_gradient(grads[0], self, dim, correction, keepdim)
    return _with_mean_gradient(grads, of_spread, self, dim, keepdim)


def _deviation_and_mean(grads: Any, self: Any, result0: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    of_spread = None if grads[0] is None else _deviation_gradient(grads[0], self, result0, dim, correction, keepdim)
    return _with_mean_gradient(grads, of_spread, self, dim, keepdim)


derivative("var_mean.correction", self=_variance_and_mean)
derivative("std_mean.correction", self=_deviation_and_mean)


def _softmax_weights(grad: Any, self: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    weights = (self - restore(result, self.shape, dim, keepdim)).exp()
    return restore(grad, self.shape, dim, keepdim) * conj(weights)


derivative("logsumexp", self=_softmax_weights)
refuse_integers("sum", "sum.dim_IntList", "nansum", "prod", "prod.dim_int")

real_only("amax", "amin")

forward_rule("linear", "mean", "mean.dim", "sum", "sum.dim_IntList")


def _taken(t: Any, dim: int, keepdim: bool, result1: Any) -> Any:
    """The tangents of the elements whose indices along a dimension the result has."""
    if not t.dim():
        return t
    return t.gather(dim, result1) if keepdim else t.gather(dim, result1.unsqueeze(dim)).squeeze(dim)


forward_rule({"self": _taken}, "max.dim", "min.dim")
