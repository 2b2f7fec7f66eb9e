"""Floating-point operations of events, for the operators that PyTorch's profiler counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ._session import Event

__all__ = ["flops_of"]


def flops_of(event: Event) -> int:
    """The operations of an event whose inputs were described; 0 for what is not counted."""
    count = _COUNTS.get(event.name)
    return count(event.inputs) if count is not None and event.inputs is not None else 0


def _product(left: list[int], right: list[int]) -> int:
    """(..., n, k) by (..., k, m): a multiplication and an addition each."""
    return 2 * math.prod(left) * right[-1] if left and right else 0


def _convolution(inputs: Any) -> int:
    """input (N, C, H, W), weight (O, C / groups, h, w)."""
    (batch, _, *sizes), weight = inputs.shapes[0], inputs.shapes[1]
    stride, padding, dilation = (_pair(inputs.values[i]) for i in (3, 4, 5))
    if padding is None or stride is None or dilation is None:
        return 0
    out = [
        (size + 2 * p - d * (kernel - 1) - 1) // s + 1
        for size, kernel, s, p, d in zip(sizes, weight[2:], stride, padding, dilation, strict=True)
    ]
    return 2 * batch * math.prod(out) * math.prod(weight)


def _pair(value: Any) -> list[int] | None:
    if not isinstance(value, (int, list)):
        return None
    values = [value] if isinstance(value, int) else value
    return values * 2 if len(values) == 1 else values


_COUNTS: dict[str, Callable[[Any], int]] = {
    "aten::mm": lambda inputs: _product(inputs.shapes[0], inputs.shapes[1]),
    "aten::bmm": lambda inputs: _product(inputs.shapes[0], inputs.shapes[1]),
    "aten::addmm": lambda inputs: _product(inputs.shapes[1], inputs.shapes[2]),
    "aten::baddbmm": lambda inputs: _product(inputs.shapes[1], inputs.shapes[2]),
    "aten::mul": lambda inputs: math.prod(inputs.shapes[0]),
    "aten::add": lambda inputs: math.prod(inputs.shapes[0]),
    "aten::conv2d": _convolution,
}
