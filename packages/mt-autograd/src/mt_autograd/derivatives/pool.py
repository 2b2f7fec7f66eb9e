"""Derivatives of pooling."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.autograd_state import is_grad_enabled
from mt_core.dispatch.registry import find_overload
from mt_core.formats import contiguous_format
from mt_core.layout import suggested_format
from mt_core.shape_rules.pool import check_adaptive_gradient

from ..rules import derivative, forward_rule, zeros
from ._parts import derivative_of_parts, following


def _average(spatial: int) -> None:
    forward, backward = getattr(ops, f"avg_pool{spatial}d"), f"avg_pool{spatial}d_backward"

    def gradient(
        grad: Any,
        self: Any,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: Any,
    ) -> Any:
        return find_overload(backward).call(
            grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )

    derivative(f"avg_pool{spatial}d", self=gradient)
    derivative(
        backward,
        grad_output=lambda grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: forward(
            grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        ),
        self=zeros,
    )


def _maximum(spatial: int, any_layout: bool = True, adaptive: bool = False) -> Any:
    def gradient(grad: Any, self: Any, result1: Any) -> Any:
        if adaptive:
            check_adaptive_gradient(grad, f"adaptive_max_pool{spatial}d_backward")
        lead = tuple(self.shape[:-spatial])
        area = 1
        for n in self.shape[-spatial:]:
            area *= n
        count = 1
        for n in grad.shape[-spatial:]:
            count *= n
        flat = (*lead, count)
        result = grad.new_zeros((*lead, area)).scatter_add(-1, result1.reshape(flat), grad.reshape(flat))
        wanted = suggested_format(self) if any_layout else None
        result = result.reshape(self.shape).contiguous(memory_format=wanted or contiguous_format)
        return following(result, self) if is_grad_enabled() else result

    return gradient


for _spatial in (2, 3):
    _average(_spatial)
    derivative(f"max_pool{_spatial}d_with_indices", self=_maximum(_spatial))
    derivative(f"adaptive_max_pool{_spatial}d", self=_maximum(_spatial, _spatial < 3, adaptive=True))
    derivative_of_parts(f"fractional_max_pool{_spatial}d", "self", differentiable_outputs=(True, False), follows=True)
    derivative_of_parts(f"grid_sampler_{_spatial}d", "input", "grid")

forward_rule("linear", "avg_pool2d", "avg_pool3d")


def _taken(spatial: int) -> Any:
    """What takes the tangents of the largest elements, whose places in a plane, or volume, are the second result."""

    def tangents(t: Any, result1: Any) -> Any:
        return t.flatten(-spatial).gather(-1, result1.flatten(-spatial)).reshape(result1.shape)

    return tangents


for _spatial in (2, 3):
    forward_rule({"self": _taken(_spatial)}, f"max_pool{_spatial}d_with_indices", f"adaptive_max_pool{_spatial}d")
