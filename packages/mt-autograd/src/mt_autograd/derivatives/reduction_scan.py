"""Derivatives of cumulative operators."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.dtypes import finfo
from mt_core.hollow import has_elements, seen_through

from ..rules import derivative, forward_rule, non_differentiable, real_only, refuse_integers
from ._conjugate import conj
from ._parts import derivative_of_parts, written_times
from ._refused import refused_operator
from ._written import written
from .reduction import counted_zeros


def _reverse_sum(grad: Any, dim: int) -> Any:
    """Sums of all elements from each one on."""
    if grad.numel() <= 1 or grad.shape[dim] == 1:
        return grad
    return grad.flip((dim,)).cumsum(dim).flip((dim,))


derivative("cumsum", self=lambda grad, dim: _reverse_sum(grad, dim))


def _cumprod(grad: Any, self: Any, dim: int, result: Any) -> Any:
    """Without zeros the gradient is a reverse sum over the element.

    With zeros each product is written out without it.
    """
    if not self.dim() or not self.numel() or self.shape[dim] == 1:
        return grad
    zero = self == 0
    if has_elements(self) and not bool(seen_through(zero).any()):
        return _reverse_sum(grad * conj(result), dim) / conj(self)
    size = self.shape[dim]
    ones = ops.ones_like(self.narrow(dim, 0, 1))
    parts = []
    for i in range(size):
        before = ones if i == 0 else self.narrow(dim, 0, i).prod(dim, keepdim=True)
        after = ops.cat([ones, self.narrow(dim, i + 1, size - i - 1)], dim).cumprod(dim)
        parts.append((grad.narrow(dim, i, size - i) * conj(before * after)).sum(dim, keepdim=True))
    return ops.cat(parts, dim)


derivative("cumprod", self=_cumprod)


def _extreme(grad: Any, self: Any, dim: int, result1: Any) -> Any:
    return written(counted_zeros(grad, self), "scatter_add", dim, result1, grad)


derivative("cummax", self=_extreme)
derivative("cummin", self=_extreme)


def _logcumsumexp(grad: Any, self: Any, dim: int, result: Any) -> Any:
    if not self.dim() or not grad.numel():
        return grad
    # Not -inf: its differences with itself, which the second derivative takes, are no numbers.
    low = ops.full_like(grad, finfo(grad.dtype).min)

    def part(logs: Any) -> Any:
        return ((logs - conj(result)).flip((dim,)).logcumsumexp(dim).flip((dim,)) + conj(self)).exp()

    if self.is_complex():
        return part(ops.where(grad != 0, grad.log(), low))
    positive = ops.where(grad > 0, grad.abs().log(), low)
    negative = ops.where(grad < 0, grad.abs().log(), low)
    return part(positive) - part(negative)


def _logcumsumexp_tangent(t: Any, self: Any, dim: int, result: Any) -> Any:
    """The sum of the tangents so far, each with its weight exp(self - result), added up in logarithms as well."""
    if not self.dim() or not self.numel():
        return t
    low = ops.full_like(t, finfo(t.dtype).min)

    def part(logs: Any) -> Any:
        return ((logs + self).logcumsumexp(dim) - result).exp()

    if self.is_complex():
        return part(ops.where(t != 0, t.log(), low))
    return part(ops.where(t > 0, t.abs().log(), low)) - part(ops.where(t < 0, t.abs().log(), low))


derivative("logcumsumexp", self=_logcumsumexp, forward={"self": _logcumsumexp_tangent})
refused_operator("bincount", "weights")
non_differentiable("histc")

derivative(
    "trace",
    self=written_times(
        2, lambda grad, self_spec: grad * ops.eye(*self_spec.shape, dtype=grad.dtype, device=grad.device)
    ),
)
refuse_integers("cumsum", "cumprod")
derivative_of_parts("renorm", "self")

real_only("cummax", "cummin")

forward_rule("linear", "cumsum", "trace")
