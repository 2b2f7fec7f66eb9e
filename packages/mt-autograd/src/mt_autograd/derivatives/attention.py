"""Derivatives of attention."""

from __future__ import annotations

from ._parts import derivative_of_parts
from ._refused import refused_operator

derivative_of_parts("_safe_softmax", "self")
refused_operator("_transform_bias_rescale_qkv", "qkv", "qkv_bias")
refused_operator(
    "_native_multi_head_attention", "query", "key", "value", "qkv_weight", "qkv_bias", "proj_weight", "proj_bias"
)
