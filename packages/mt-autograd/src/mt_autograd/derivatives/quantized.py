"""Quantized tensors have no gradients."""

from __future__ import annotations

from ..rules import non_differentiable

non_differentiable(
    "int_repr", "dequantize.self", "q_scale", "q_zero_point", "q_per_channel_scales", "q_per_channel_zero_points",
    "q_per_channel_axis", "qscheme",
)  # fmt: skip
