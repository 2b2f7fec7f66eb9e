"""Multi-head attention of one tensor of queries, keys and values, with its projections, in one operator."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite

#: Names of the inputs, as messages say them.
_INPUTS = ("query", "key", "value")


@composite("_transform_bias_rescale_qkv", explicit=True)
def transform_bias_rescale_qkv(qkv: Any, qkv_bias: Any, num_heads: int) -> tuple[Any, Any, Any]:
    """qkv (B, L, 3 E), qkv_bias (3 E) -> three times (B, H, L, E / H), the first divided by a root of E / H.

    PyTorch reads a bias of another size or dtype beyond its memory; here it is refused.
    """
    batch, length, three = (qkv.size(dim) for dim in range(3))
    if qkv.dim() != 3:
        raise RuntimeError(f"expected 3-D `qkv`, got {qkv.dim()}-D tensor")
    embed_dim = three // 3
    if not num_heads or embed_dim % num_heads:
        raise RuntimeError(
            "Expected D % num_head == 0 to be true, but got false.  (Could this error message be improved?  If so, "
            "please report an enhancement request to PyTorch.)"
        )
    if tuple(qkv_bias.shape) != (three,) or three % 3 or qkv_bias.dtype is not qkv.dtype:
        raise RuntimeError(
            f"expected `qkv_bias` to have the shape ({three},), three times embed_dim, and the dtype {qkv.dtype}, "
            f"but got {tuple(qkv_bias.shape)} and {qkv_bias.dtype}"
        )
    width = embed_dim // num_heads
    heads = (qkv + qkv_bias).reshape(batch, length, 3, num_heads, width).permute(2, 0, 3, 1, 4)
    query, key, value = (part.contiguous() for part in heads.unbind(0))
    return query / math.sqrt(width) if width else query, key, value


@composite("_native_multi_head_attention", explicit=True)
def native_multi_head_attention(
    query: Any,
    key: Any,
    value: Any,
    embed_dim: int,
    num_head: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    mask: Any,
    need_weights: bool,
    average_attn_weights: bool,
    mask_type: int | None,
) -> tuple[Any, Any]:
    """query, key, value (B, L, E) -> (B, L, E), and the weights: (B, L, L), (B, H, L, L) of each head, or None."""
    _check_inputs((query, key, value), embed_dim)
    check_projection(qkv_weight, qkv_bias, embed_dim, num_head)
    if not query.numel():
        return ops.empty_like(query), None
    projected = _projected(query, key, value, qkv_weight, embed_dim)
    q, k, v = ops._transform_bias_rescale_qkv(projected, qkv_bias, num_head)
    scores = q @ k.transpose(-2, -1)
    weights = ops.softmax(scores, 3) if mask is None else _masked(scores, mask, mask_type)
    attended = (weights @ v).transpose(1, 2).reshape(-1, embed_dim)
    result = ops.addmm(proj_bias, attended, proj_weight.t())
    result = ops._unsafe_view(result, (*query.shape[:2], result.shape[1]))
    if not need_weights:
        return result, None
    return result, weights.sum(1) / num_head if average_attn_weights else weights


def _check_inputs(inputs: tuple[Any, Any, Any], embed_dim: int) -> None:
    """Refuse inputs that are not alike, or not of the shape (B, L, embed_dim)."""
    for i, (name, tensor) in enumerate(zip(_INPUTS, inputs, strict=True)):
        if tensor.dim() != 3:
            raise RuntimeError(f"expected 3-D `{name}`, got {tensor.dim()}-D tensor")
        if i == 0 and tensor.shape[2] != embed_dim:
            raise RuntimeError(f"passed-in embed_dim {embed_dim} didn't match last dim of query {tensor.shape[2]}")
    if not inputs[0].shape == inputs[1].shape == inputs[2].shape:
        raise RuntimeError("expected `query`/`key`/`value` shapes to match")


def check_projection(weight: Any, bias: Any, embed_dim: int, num_head: int) -> None:
    """Refuse another shape than (3 E, E) of the weight, or (3 E) of the bias, and heads that do not divide E."""
    if weight.dim() != 2:
        raise RuntimeError(f"expected 2-D `qkv_weight`, got {weight.dim()}-D tensor")
    if weight.shape[0] != 3 * embed_dim:
        raise RuntimeError("expected `qkv_weight` first dim to be 3x embed_dim")
    if weight.shape[1] != embed_dim:
        raise RuntimeError("expected `qkv_weight` second dim to be embed_Dim")
    if bias.dim() != 1:
        raise RuntimeError(f"expected 1-D `qkv_bias`, got {bias.dim()}-D tensor")
    if bias.shape[0] != 3 * embed_dim:
        raise RuntimeError("expected `qkv_bias` first dim and first dim of query to be equal")
    if not num_head or embed_dim % num_head:
        raise RuntimeError("`embed_dim` must divide evenly by `num_heads`")


def _projected(query: Any, key: Any, value: Any, weight: Any, embed_dim: int) -> Any:
    """The projections (B, L, 3 E) of all three; of what is one tensor in one product."""
    if query is key is value:
        return query @ weight.t()
    parts = zip((query, key, value), weight.split(embed_dim), strict=True)
    return ops.cat([tensor @ part.t() for tensor, part in parts], 2)


def _masked(scores: Any, mask: Any, mask_type: int | None) -> Any:
    mask = mask if mask.dtype is dtypes.bool else mask.to(dtypes.bool)
    return ops._masked_softmax(scores, mask, 3, mask_type)
