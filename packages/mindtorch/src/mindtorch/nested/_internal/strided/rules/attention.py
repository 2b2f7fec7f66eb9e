"""Attention within components."""

from __future__ import annotations

import math
from typing import Any

import mt_core as mt

from ..strided_tensor import RULES, StridedNestedTensor


@RULES.rule("scaled_dot_product_attention")
def attention(
    overload: Any, query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, is_causal: bool, scale: Any,
    enable_gqa: bool,
) -> Any:  # fmt: skip
    """Each component's queries ask its own keys; taken apart into products, softmax and dropout of nested tensors."""
    given = (query, key, value)
    if not all(isinstance(one, StridedNestedTensor) for one in given):
        nested = query.is_nested and key.is_nested or query.is_nested
        which = "nested self and non-nested" if nested else "non-nested self and nested"
        raise RuntimeError(f"Expected both to be nested, but got a {which} other")
    if attn_mask is not None:
        raise RuntimeError(
            "Scaled_dot_product_attention: Nested tensors for query / key are not supported when an explicit attn_mask "
            "is set"
        )
    if is_causal:
        raise RuntimeError(
            "_scaled_dot_product_attention: Nested tensors for query / key are not supported when is_causal=True"
        )
    if enable_gqa:
        raise NotImplementedError("scaled_dot_product_attention: enable_gqa=True is not supported for nested tensors")
    width = query.size(-1)
    root = math.sqrt(1.0 / math.sqrt(width) if scale is None else scale)
    query = query.contiguous()
    weights = mt.matmul(query * root, key.transpose(-2, -1) * root)
    weights = mt.softmax(weights, -1)
    if dropout_p > 0.0:
        weights = mt.dropout(weights, dropout_p, True)
    return mt.matmul(weights, value)
