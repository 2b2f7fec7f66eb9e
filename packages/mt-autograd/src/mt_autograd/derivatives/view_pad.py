"""Derivative of padding: the border is cut off again."""

from __future__ import annotations

from mt_core.api import _functions as ops
from mt_core.dispatch.registry import find_overload

from ..rules import derivative, forward_rule, zeros

derivative("constant_pad_nd", self=lambda grad, pad: ops.constant_pad_nd(grad, [-p for p in pad], 0))


def _declare(name: str) -> None:
    forward, backward = getattr(ops, name), f"{name}_backward"
    derivative(name, self=lambda grad, self, padding: find_overload(backward).call(grad, self, padding))
    derivative(backward, grad_output=lambda grad, padding: forward(grad, padding), self=zeros)


for _spatial in (1, 2, 3):
    _declare(f"reflection_pad{_spatial}d")
    _declare(f"replication_pad{_spatial}d")

forward_rule(
    "linear",
    "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d", "replication_pad2d",
    "replication_pad3d",
)  # fmt: skip
forward_rule({"self": lambda t, pad: ops.constant_pad_nd(t, pad, 0)}, "constant_pad_nd")
