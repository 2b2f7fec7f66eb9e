"""Attention."""

import math
import warnings

import mt_core as mt
from mt_core import Tensor

from .padding import pad

__all__ = ["multi_head_attention_forward"]


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention (Vaswani et al. 2017) with its projections.

    L and S are the lengths of the target and the source, N is the batch size, E the embedding dimension, H the number
    of heads. N is left out of all shapes for a single sample.

    Parameters
    ----------
    query
        Shape (L, N, E).
    key
        Shape (S, N, E), or its own last dimension with separate projections.
    value
        Shape (S, N, E), or its own last dimension with separate projections.
    embed_dim_to_check
        E.
    num_heads
        H.
    in_proj_weight
        The projections of query, key and value in one, shape (3 E, E).
    in_proj_bias
        Their biases, shape (3 E,).
    bias_k
        One more key for all samples, shape (1, 1, E).
    bias_v
        Its value, shape (1, 1, E).
    add_zero_attn
        Whether to add one more key and value of zeros.
    dropout_p
        Probability of an attention weight to be zeroed in training.
    out_proj_weight
        The projection of the result, shape (E, E).
    out_proj_bias
        Its bias, shape (E,).
    training
        Whether dropout applies.
    key_padding_mask
        Shape (N, S); True leaves a key out, a number is added to its scores.
    need_weights
        Whether to return the attention weights, which is slower.
    attn_mask
        Shape (L, S) or (N H, L, S); True leaves a pair out, a number is added to its score.
    use_separate_proj_weight
        Whether to use the following projections instead of `in_proj_weight`.
    q_proj_weight
        Shape (E, E).
    k_proj_weight
        Shape (E, size of a key).
    v_proj_weight
        Shape (E, size of a value).
    static_k
        Keys to use as they are, shape (N H, S, E / H).
    static_v
        Values to use as they are, shape (N H, S, E / H).
    average_attn_weights
        Whether to return the mean of the weights over heads.
    is_causal
        Says that `attn_mask` is the causal mask, which permits not to use it.

    Returns
    -------
    tuple
        The result, shape (L, N, E), and the weights: `None`, shape (N, L, S), or shape (N, H, L, S) of each head.
    """
    is_batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    target_length, batch, embed_dim = query.shape
    attn_mask, key_padding_mask, is_causal = _canonical_masks(
        query, attn_mask, key_padding_mask, is_causal, need_weights
    )
    _check_embedding(embed_dim, embed_dim_to_check, num_heads)
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _in_separate_projections(query, key, value, weights, in_proj_bias)
    else:
        _check_packed_projections(key, value, in_proj_weight)
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)
    heads = batch * num_heads
    if attn_mask is not None:
        attn_mask = _batched_mask(attn_mask, heads, target_length, key.shape[0])
    one_more = _has_bias(bias_k, bias_v, static_k, static_v)
    if one_more:
        k, v = mt.cat([k, bias_k.repeat(1, batch, 1)]), mt.cat([v, bias_v.repeat(1, batch, 1)])
    head_dim = embed_dim // num_heads
    q = _split_heads(q, heads, head_dim)
    k = _split_heads(k, heads, head_dim) if static_k is None else _checked_static(static_k, "static_k", heads, head_dim)
    v = _split_heads(v, heads, head_dim) if static_v is None else _checked_static(static_v, "static_v", heads, head_dim)
    if add_zero_attn:
        zeros = mt.zeros((heads, 1, q.size(2)), dtype=k.dtype, device=k.device)
        k, v = mt.cat([k, zeros], dim=1), mt.cat([v, zeros], dim=1)
    attn_mask = _with_more_keys(attn_mask, one_more + add_zero_attn)
    key_padding_mask = _with_more_keys(key_padding_mask, one_more + add_zero_attn)
    if key_padding_mask is not None:
        attn_mask = _joined_masks(attn_mask, key_padding_mask, batch, num_heads, k.size(1))
    attended, attn_weights = _attend(
        q, k, v, attn_mask, dropout_p if training else 0.0, is_causal, need_weights, (batch, num_heads)
    )
    if attn_weights is not None and average_attn_weights:
        attn_weights = attn_weights.mean(dim=1)
    attended = attended.view(target_length * batch, embed_dim)
    projected = mt.linear(attended, out_proj_weight, out_proj_bias)
    output = projected.view(target_length, batch, projected.size(1))
    if is_batched:
        return output, attn_weights
    return output.squeeze(1), None if attn_weights is None else attn_weights.squeeze(0)


def _canonical_masks(
    query: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool, need_weights: bool
) -> tuple[Tensor | None, Tensor | None, bool]:
    """(attention mask, padding mask, whether the attention is causal without any mask)"""
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        return None, None, True
    attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
    return attn_mask, key_padding_mask, is_causal and key_padding_mask is None


def _in_separate_projections(
    query: Tensor, key: Tensor, value: Tensor, weights: tuple[Tensor | None, ...], in_proj_bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    _check_separate_projections(key, value, *weights)
    biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
    return _in_projection(query, key, value, *weights, *biases)


def _attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    need_weights: bool,
    batch_and_heads: tuple[int, int],
) -> tuple[Tensor, Tensor | None]:
    """(attended values in shape (L, N, E), weights in shape (N, H, L, S) if needed) of heads (N H, L or S, E / H)."""
    if not need_weights:
        return _attention_by_heads(q, k, v, mask, dropout_p, is_causal, batch_and_heads), None
    attended, weights = _attention_with_weights(q, k, v, mask, dropout_p, is_causal)
    return attended.transpose(0, 1).contiguous(), weights.view(*batch_and_heads, q.size(1), k.size(1))


def _attention_with_weights(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool
) -> tuple[Tensor, Tensor]:
    """(values averaged by attention weights, these weights) of heads of shape (N H, L or S, E / H)."""
    if is_causal and mask is None:
        raise AssertionError("FIXME: is_causal not implemented for need_weights")
    q_scaled = q * math.sqrt(1.0 / float(q.size(-1)))
    if mask is not None:
        scores = mt.baddbmm(mask, q_scaled, k.transpose(-2, -1))
    else:
        scores = mt.bmm(q_scaled, k.transpose(-2, -1))
    weights = scores.softmax(-1)
    if dropout_p > 0.0:
        weights = mt.dropout(weights, dropout_p, True)
    return mt.bmm(weights, v), weights


def _attention_by_heads(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    batch_and_heads: tuple[int, int],
) -> Tensor:
    """The attended values of heads of shape (N H, L or S, E / H), in shape (L, N, H, E / H)."""
    if mask is not None:
        mask = (
            mask.unsqueeze(0) if mask.size(0) == 1 and mask.dim() == 3 else mask.view(*batch_and_heads, -1, k.size(1))
        )
    q, k, v = (x.view(*batch_and_heads, x.size(1), x.size(2)) for x in (q, k, v))
    attended = mt.scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    return attended.permute(2, 0, 1, 3).contiguous()


def _in_projection_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None) -> list[Tensor]:
    """Query, key and value, projected by three weights that lie in one. Equal inputs share a product."""
    size = q.size(-1)
    if k is v and q is k:
        projected = mt.linear(q, w, b).unflatten(-1, (3, size))
        return list(projected.unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous().unbind())
    if k is v:
        w_q, w_kv = w.split([size, size * 2])
        b_q, b_kv = (None, None) if b is None else b.split([size, size * 2])
        projected = mt.linear(k, w_kv, b_kv).unflatten(-1, (2, size))
        pair = projected.unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return [mt.linear(q, w_q, b_q), pair[0], pair[1]]
    biases = (None, None, None) if b is None else b.chunk(3)
    return [mt.linear(x, weight, bias) for x, weight, bias in zip((q, k, v), w.chunk(3), biases, strict=True)]


def _in_projection(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    b_q: Tensor | None = None,
    b_k: Tensor | None = None,
    b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value, projected by separate weights of shapes (Eq, Eq), (Eq, Ek) and (Eq, Ev)."""
    size, key_size, value_size = q.size(-1), k.size(-1), v.size(-1)
    for name, weight, expected in (
        ("query weights", w_q, (size, size)),
        ("key weights", w_k, (size, key_size)),
        ("value weights", w_v, (size, value_size)),
        ("query bias", b_q, (size,)),
        ("key bias", b_k, (size,)),
        ("value bias", b_v, (size,)),
    ):
        if weight is not None and weight.shape != expected:
            raise AssertionError(f"expecting {name} shape of {expected}, but got {weight.shape}")
    return mt.linear(q, w_q, b_q), mt.linear(k, w_k, b_k), mt.linear(v, w_v, b_v)


def _split_heads(projected: Tensor, heads: int, head_dim: int) -> Tensor:
    """(length, N, E) -> (N H, length, E / H)"""
    return projected.view(projected.shape[0], heads, head_dim).transpose(0, 1)


def _batched_mask(mask: Tensor, heads: int, target_length: int, source_length: int) -> Tensor:
    if mask.dim() == 2:
        expected: tuple[int, ...] = (target_length, source_length)
        if mask.shape != expected:
            raise RuntimeError(f"The shape of the 2D attn_mask is {mask.shape}, but should be {expected}.")
        return mask.unsqueeze(0)
    if mask.dim() == 3:
        expected = (heads, target_length, source_length)
        if mask.shape != expected:
            raise RuntimeError(f"The shape of the 3D attn_mask is {mask.shape}, but should be {expected}.")
        return mask
    raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")


def _with_more_keys(mask: Tensor | None, count: int) -> Tensor | None:
    """A mask that leaves keys added at the end as they are."""
    return mask if mask is None or count == 0 else pad(mask, (0, count))


def _joined_masks(
    attn_mask: Tensor | None, key_padding_mask: Tensor, batch: int, num_heads: int, source_length: int
) -> Tensor:
    for dim, expected in enumerate((batch, source_length)):
        if key_padding_mask.shape[dim] != expected:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{dim}] to be {expected}, but got {key_padding_mask.shape[dim]}"
            )
    by_head = key_padding_mask.view(batch, 1, 1, source_length).expand(-1, num_heads, -1, -1)
    by_head = by_head.reshape(batch * num_heads, 1, source_length)
    return by_head if attn_mask is None else attn_mask + by_head


# Checks


def _check_embedding(embed_dim: int, expected: int, num_heads: int) -> None:
    if embed_dim != expected:
        raise AssertionError(f"was expecting embedding dimension of {expected}, but got {embed_dim}")
    if embed_dim // num_heads * num_heads != embed_dim:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")


def _check_separate_projections(key: Tensor, value: Tensor, *weights: Tensor | None) -> None:
    if key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    for name, weight in zip("qkv", weights, strict=True):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")


def _check_packed_projections(key: Tensor, value: Tensor, weight: Tensor | None) -> None:
    if key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    if weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")


def _has_bias(bias_k: Tensor | None, bias_v: Tensor | None, static_k: Tensor | None, static_v: Tensor | None) -> bool:
    """Whether there is one more key and value, which must be given together and not beside static ones."""
    if bias_k is None and bias_v is None:
        return False
    if bias_v is None:
        raise AssertionError("bias_k is set but bias_v is None")
    if bias_k is None:
        raise AssertionError("bias_k is None but bias_v is set")
    if static_k is not None:
        raise AssertionError("bias cannot be added to static key.")
    if static_v is not None:
        raise AssertionError("bias cannot be added to static value.")
    return True


def _checked_static(static: Tensor, name: str, heads: int, head_dim: int) -> Tensor:
    if static.size(0) != heads:
        raise AssertionError(f"expecting {name}.size(0) of {heads}, but got {static.size(0)}")
    if static.size(2) != head_dim:
        raise AssertionError(f"expecting {name}.size(2) of {head_dim}, but got {static.size(2)}")
    return static


def _mha_shape_check(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Whether the inputs are a batch, after checking that their dimensions agree."""
    ndim = query.dim()
    if ndim not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {ndim}-D query tensor")
    kind = "For batched (3-D)" if ndim == 3 else "For unbatched (2-D)"
    if key.dim() != ndim or value.dim() != ndim:
        raise AssertionError(
            f"{kind} `query`, expected `key` and `value` to be {ndim}-D but found {key.dim()}-D and {value.dim()}-D "
            "tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != ndim - 1:
        raise AssertionError(
            f"{kind} `query`, expected `key_padding_mask` to be `None` or {ndim - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(
                f"{kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor "
                "instead"
            )
        expected = (num_heads, query.shape[0], key.shape[0])
        if ndim == 2 and attn_mask.dim() == 3 and attn_mask.shape != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return ndim == 3


def _none_or_dtype(input: Tensor | None) -> mt.dtype | None:
    return None if input is None else input.dtype


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: mt.dtype | None,
    other_name: str,
    target_type: mt.dtype,
    check_other: bool = True,
) -> Tensor | None:
    """A mask as numbers to add to scores: minus infinity where a boolean mask is True."""
    if mask is None:
        return None
    is_float = mask.is_floating_point()
    if mask.dtype != mt.bool and not is_float:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=4,
        )
    if is_float:
        return mask
    return mt.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))
