"""Attention written in other operators."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..attention_switches import check_allowed, is_enabled
from ..dispatch.registry import find_overload
from ..dispatch.registry import register_composite as composite
from ..dtypes import cpp_type_name
from ..layout import dense_order


@composite("_safe_softmax")
def safe_softmax(self: Any, dim: int, dtype: Any) -> Any:
    """self (*) -> (*), normalized along `dim`; zero, not NaN, where all of it is -inf."""
    empty = (self == -math.inf).all(dim, keepdim=True)
    # Rows without any weight are computed on zeros: their NaN would come back as the gradient of what is masked.
    result = ops.softmax(self.masked_fill(empty, 0.0), dim, dtype=dtype)
    return ops.where(empty, ops.zeros((), dtype=result.dtype, device=result.device), result)


def _check(query: Any, key: Any, value: Any, attn_mask: Any, is_causal: bool) -> None:
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {cpp_type_name(query.dtype)} "
            f"key.dtype: {cpp_type_name(key.dtype)} and "
            f"value.dtype: {cpp_type_name(value.dtype)} instead."
        )
    if query.device != key.device or query.device != value.device:
        raise RuntimeError(
            f"Expected query, key, and value to have the same device type, but got query.device: {query.device} "
            f"key.device: {key.device} "
            f"and value.device: {value.device} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()} key.dim: {key.dim()} and "
            f"value.dim: {value.dim()} instead."
        )
    if attn_mask is None:
        return
    if (
        attn_mask.dtype is not dtypes.bool
        and attn_mask.dtype is not query.dtype
        and attn_mask.dtype is not dtypes.float32
    ):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{cpp_type_name(attn_mask.dtype)} and  "
            f"query.dtype: {cpp_type_name(query.dtype)} instead."
        )
    if is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")


def additive_mask(mask: Any, query: Any) -> Any:
    """A mask to be added to the scores: -inf where a bool mask is false."""
    if mask.dtype is not dtypes.bool:
        return mask
    zeros = ops.zeros(mask.shape, dtype=query.dtype, device=query.device)
    return zeros.masked_fill(~mask, -math.inf)


def _repeat_heads(query: Any, tensor: Any) -> Any:
    """Grouped-query attention: each key head serves several query heads."""
    heads, have = query.shape[-3], tensor.shape[-3]
    if heads % have:
        raise RuntimeError(
            f"Number of heads in key and value must divide the number of heads in query: got {heads} and {have}"
        )
    return tensor if heads == have else tensor.repeat_interleave(heads // have, -3)


@composite("scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Any:
    """query (*, L, E), key (*, S, E), value (*, S, V), mask broadcast to (*, L, S) -> (*, L, V)."""
    _check(query, key, value, attn_mask, is_causal)
    check_allowed(query, dropout_p)
    if not (value.numel() and query.shape[-2]):
        # Without a look at how the shapes fit, as in PyTorch; of all three, so that each has a gradient.
        zeros = query.new_zeros((*query.shape[:-1], value.shape[-1]))
        return zeros + find_overload("mul.Scalar").call(query.sum() + key.sum() + value.sum(), 0)
    if enable_gqa:
        key, value = _repeat_heads(query, key), _repeat_heads(query, value)
    result = _attend_widely(query, key, value, attn_mask, dropout_p, is_causal, scale)
    return _laid_out(result, query) if dropout_p == 0 and _is_fused(query, key, value, attn_mask) else result


def _attend_widely(
    query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, is_causal: bool, scale: float | None
) -> Any:
    """Half types are computed as wide as PyTorch computes them."""
    d = query.dtype
    if attn_mask is None and dropout_p == 0 and d.compute is d:
        return ops._plain_attention(query, key, value, is_causal, scale)
    if d.compute is not d:
        wide = [t.to(d.compute) if t.dtype is d else t for t in (query, key, value)]
        if attn_mask is None and dropout_p == 0:
            return ops._plain_attention(wide[0], wide[1], wide[2], is_causal, scale).to(d)
        mask = attn_mask if attn_mask is None or attn_mask.dtype is dtypes.bool else attn_mask.to(d.compute)
        return _attend(wide[0], wide[1], wide[2], mask, dropout_p, is_causal, scale).to(d)
    return _attend(query, key, value, attn_mask, dropout_p, is_causal, scale)


def _is_fused(query: Any, key: Any, value: Any, attn_mask: Any) -> bool:
    """Whether PyTorch's CPU has its flash kernel compute a call without dropout; all devices follow its rules here."""
    return (
        query.dim() == key.dim() == value.dim() == 4 and is_enabled("flash")
        and query.shape[:2] == key.shape[:2] == value.shape[:2] and query.shape[3] == key.shape[3] == value.shape[3]
        and query.stride(3) == key.stride(3) == value.stride(3) == 1
        and (attn_mask is None or not attn_mask.requires_grad)
    )  # fmt: skip


def _laid_out(result: Any, query: Any) -> Any:
    """A result whose dimensions follow each other in memory as the query's do, as of PyTorch's kernel."""
    if query.is_contiguous():
        return result
    innermost_first = dense_order(query.shape, [query.stride()])
    order = innermost_first[::-1]
    return result.permute(order).contiguous().permute([order.index(d) for d in range(len(order))])


@composite("_plain_attention")
def plain_attention(query: Any, key: Any, value: Any, is_causal: bool, scale: float | None) -> Any:
    """Shapes as `scaled_dot_product_attention`."""
    return _attend(query, key, value, None, 0.0, is_causal, scale)


def _attend(
    query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, is_causal: bool, scale: float | None
) -> Any:
    # The root of the scale on either side keeps half types in range.
    width = query.shape[-1]
    root = math.sqrt((1 / math.sqrt(width) if width else math.inf) if scale is None else abs(scale))
    sign = -1.0 if scale is not None and scale < 0 else 1.0
    if is_causal:
        ones = ops.ones((query.shape[-2], key.shape[-2]), dtype=dtypes.bool, device=query.device)
        attn_mask = ones.tril()
    query = query * (root * sign)
    scores = query @ (key.transpose(-2, -1) * root)
    if attn_mask is not None:
        scores = scores + additive_mask(attn_mask, query)  # in the dtype of what has been scaled
        weights = safe_softmax(scores, -1, None)
    else:
        weights = ops.softmax(scores, -1)
    if dropout_p > 0:
        weights = ops.dropout(weights, dropout_p, True)
    return weights @ value
