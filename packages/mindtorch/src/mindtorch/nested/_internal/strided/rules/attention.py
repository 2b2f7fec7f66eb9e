"""Attention within components."""

from __future__ import annotations

import math
from typing import Any

import mt_core as mt
from mt_core import Tensor
from mt_core.api import _functions as ops
from mt_core.decomp.attention_heads import check_projection
from mt_core.keys import AUTOCAST
from mt_core.layers import autocast
from mt_core.state import excluding

from ..strided_tensor import RULES, StridedNestedTensor
from .padding import from_padded, padded


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


@RULES.rule("_transform_bias_rescale_qkv")
def projections_of_heads(overload: Any, qkv: Any, qkv_bias: Any, num_heads: int) -> Any:
    """qkv (components, L, 3 E) -> three ordinary tensors (components, heads, greatest L, E / heads)."""
    dense = padded(qkv, 0.0)
    if dense.shape[-1] % 3:
        raise RuntimeError(
            "Expected _3D % 3 == 0 to be true, but got false.  (Could this error message be improved?  If so, please "
            "report an enhancement request to PyTorch.)"
        )
    return ops._transform_bias_rescale_qkv(dense, qkv_bias, num_heads)


@RULES.rule("_native_multi_head_attention")
def heads(
    overload: Any, query: Any, key: Any, value: Any, embed_dim: int, num_head: int, qkv_weight: Any, qkv_bias: Any,
    proj_weight: Any, proj_bias: Any, mask: Any, need_weights: bool, average_attn_weights: bool, mask_type: Any,
) -> Any:  # fmt: skip
    """Components of (L, E) -> alike; the weights are an ordinary tensor, with zeros where a component has no rows.

    Scores are computed side by side, filled up to the longest component.
    """
    if mask is not None:
        raise RuntimeError("NestedTensor with mask is not supported yet")
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() != 3:
            raise RuntimeError(f"expected 3-D `{name}`, got {tensor.dim()}-D tensor")
    if autocast.is_enabled(query.device.type):
        # The layer below sees the parts alone; to it, the whole is one operator of a lower precision.
        lower = autocast.settings.dtype_of(query.device.type)
        given = (query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias)
        rest = (mask, need_weights, average_attn_weights, mask_type)
        with excluding(AUTOCAST):
            return heads(overload, *(_cast(value, lower) for value in given), *rest)
    check_projection(qkv_weight, qkv_bias, embed_dim, num_head)
    if key is query and value is query:
        projected = mt.linear(query, qkv_weight)
    else:
        parts = zip((query, key, value), qkv_weight.split(embed_dim), strict=True)
        projected = mt.cat([mt.linear(tensor, part) for tensor, part in parts], 2)
    q, k, v = ops._transform_bias_rescale_qkv(projected, qkv_bias, num_head)
    sizes = query._nested_tensor_size()
    rows = mt.arange(q.shape[2], device=q.device) < sizes[:, :1].to(q.device)
    present = rows[:, None, :, None] & rows[:, None, None, :]
    scores = mt.matmul(q, k.transpose(-2, -1)).masked_fill(~rows[:, None, None, :], -math.inf)
    weights = mt.softmax(scores, 3).masked_fill(~present, 0.0)
    attended = from_padded(mt.matmul(weights, v), sizes, fuse_transform_0213=True)
    result = mt.linear(attended, proj_weight, proj_bias)
    if not need_weights:
        return result, None
    return result, weights.sum(1) / num_head if average_attn_weights else weights


def _cast(value: Any, lower: Any) -> Any:
    return value.to(lower) if isinstance(value, Tensor) and value.dtype.is_floating_point else value
