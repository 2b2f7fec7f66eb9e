"""Derivatives of writing to one window of a copy: the window's gradient is the source's, the rest is the tensor's."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.dispatch.registry import overload

from ..rules import derivative, forward_rule, real_only, refuse_integers

_slice = overload("slice.Tensor", "view")

Tensor = Any


def _nothing(grad: Tensor, src_spec: Any) -> Tensor:
    return grad.new_zeros(src_spec.shape)


derivative(
    "slice_scatter",
    self=lambda grad, src_spec, dim, start, end, step: ops.slice_scatter(
        grad, _nothing(grad, src_spec), dim, start, end, step
    ),
    src=lambda grad, dim, start, end, step: _slice.call(grad, dim, start, end, step),
)
derivative(
    "select_scatter",
    self=lambda grad, src_spec, dim, index: ops.select_scatter(grad, _nothing(grad, src_spec), dim, index),
    src=lambda grad, dim, index: grad.select(dim, index),
)
derivative(
    "diagonal_scatter",
    self=lambda grad, src_spec, offset, dim1, dim2: ops.diagonal_scatter(
        grad, _nothing(grad, src_spec), offset, dim1, dim2
    ),
    src=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2),
)


def _window_kept(grad: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    """The gradient inside of the window, and zeros around it.

    Mathematically it is the other way round; this is what PyTorch gives.
    """
    grad = grad.contiguous()
    kept = ops.zeros_like(grad)
    kept.as_strided(size, stride, storage_offset).copy_(grad.as_strided(size, stride, storage_offset))
    return kept


derivative(
    "as_strided_scatter",
    self=_window_kept,
    src=lambda grad, size, stride, storage_offset: grad.contiguous().as_strided(size, stride, storage_offset),
)
real_only("slice_scatter", "select_scatter")
refuse_integers("slice_scatter", "select_scatter", "diagonal_scatter", "as_strided_scatter")

forward_rule("linear", "diagonal_scatter", "select_scatter", "slice_scatter")
