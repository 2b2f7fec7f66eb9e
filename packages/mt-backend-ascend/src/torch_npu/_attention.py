"""Attention of torch_npu: softmax(scale * (query key^T + pse), masked) value, in one call."""

from __future__ import annotations

from typing import Any

import mindtorch as torch

from ._declare import operator, unsupported

__all__ = ["npu_fusion_attention", "npu_incre_flash_attention", "npu_prompt_flash_attention"]

F = torch.nn.functional
#: Modes of `sparse_mode` in which the mask is the caller's.
_GIVEN, _ALL, _LEFT_UP, _RIGHT_DOWN, _BAND = range(5)
#: The row statistics that attention gives come so often, one beside another.
_REPEATED = 8


def _heads_first(tensor: Any, layout: str, heads: int) -> Any:
    """(B, N, S, D) of a tensor in a layout."""
    if layout == "BNSD":
        return tensor
    if layout == "BSND":
        return tensor.transpose(1, 2)
    if layout == "BSH":
        return tensor.unflatten(2, (heads, -1)).transpose(1, 2)
    if layout == "SBH":
        return tensor.unflatten(2, (heads, -1)).permute(1, 2, 0, 3)
    raise NotImplementedError(f"torch_npu's attention: input_layout is BNSD, BSND, BSH or SBH here, not {layout!r}")


def _laid_out(tensor: Any, layout: str) -> Any:
    """(B, N, S, D) in a layout."""
    if layout == "BNSD":
        return tensor
    if layout == "BSND":
        return tensor.transpose(1, 2).contiguous()
    return (tensor.transpose(1, 2) if layout == "BSH" else tensor.permute(2, 0, 1, 3)).flatten(2)


def _hidden(mode: int, mask: Any, queries: int, keys: int, before: int, after: int, device: Any) -> Any:
    """Where attention is not to look, (Sq, Skv) or as the caller's mask is; None: it looks everywhere."""
    if mode == _ALL and mask is None:
        raise RuntimeError("torch_npu's attention: sparse_mode 1 takes a whole mask, atten_mask")
    if mode in (_GIVEN, _ALL):
        return None if mask is None else mask.bool()
    # How far each key is from the query that it would be causal for.
    distance = torch.arange(keys, device=device) - torch.arange(queries, device=device).unsqueeze(1)
    if mode == _LEFT_UP:
        return distance > 0
    distance = distance - (keys - queries)
    if mode == _RIGHT_DOWN:
        return distance > 0
    if mode == _BAND:
        return torch.logical_or(distance > after, distance < -before)
    raise NotImplementedError(f"torch_npu's attention: sparse_mode is 0 to 4 here, not {mode}")


def _attended(
    query: Any, key: Any, value: Any, scale: float, pse: Any, hidden: Any, kept: float
) -> tuple[Any, Any, Any]:
    """(attention (B, N, Sq, D), greatest score and sum of powers of each row (B, N, Sq, 1)), from float32."""
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = (t.repeat_interleave(groups, dim=1) for t in (key, value))
    scores = query.float() @ key.float().transpose(-1, -2)
    if pse is not None:
        scores = scores + pse.float()
    scores = scores * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, torch.finfo(torch.float32).min)
    greatest = scores.detach().amax(-1, keepdim=True)
    powers = torch.exp(scores - greatest)
    if hidden is not None:  # a row that sees nothing gives 0
        powers = powers.masked_fill(hidden, 0)
    total = powers.sum(-1, keepdim=True)
    weights = powers / total.clamp_min(torch.finfo(torch.float32).tiny)
    if kept < 1:
        weights = F.dropout(weights, 1 - kept)
    return (weights @ value.float()).to(query.dtype), greatest, total.detach()


def _checked(name: str, query: Any, heads: int, kept: float = 1.0) -> None:
    if query.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise RuntimeError(f"torch_npu.{name}: query is of float16, bfloat16 or float32, not {query.dtype}")
    if heads < 1:
        raise RuntimeError(f"torch_npu.{name}: there is at least one head, not {heads}")
    if not 0 < kept <= 1:
        raise RuntimeError(f"torch_npu.{name}: keep_prob is above 0 and at most 1, not {kept}")


@operator(
    "npu_fusion_attention(Tensor query, Tensor key, Tensor value, int head_num, str input_layout, Tensor? pse=None, "
    "Tensor? padding_mask=None, Tensor? atten_mask=None, float scale=1., float keep_prob=1., "
    "int pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0, int[]? prefix=None, "
    "int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True, "
    'bool sync=False, str softmax_layout="", Tensor? sink=None, Tensor? dropout_mask=None, int seed=0, int offset=0) '
    "-> (Tensor, Tensor, Tensor, Tensor, int, int, int)"
)
def npu_fusion_attention(
    query: Any, key: Any, value: Any, head_num: int, input_layout: str, pse: Any = None, padding_mask: Any = None,
    atten_mask: Any = None, scale: float = 1.0, keep_prob: float = 1.0, pre_tockens: int = 2147483647,
    next_tockens: int = 2147483647, inner_precise: int = 0, prefix: Any = None, actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None, sparse_mode: int = 0, gen_mask_parallel: bool = True, sync: bool = False,
    softmax_layout: str = "", sink: Any = None, dropout_mask: Any = None, seed: int = 0, offset: int = 0,
) -> tuple[Any, ...]:  # fmt: skip
    """query, key, value in `input_layout` -> attention in it, and what its backward needs elsewhere.

    That is, of each row, the greatest score and the sum of powers (B, N, Sq, 8) of float32; nothing; seed, offset and
    size of the dropout's mask.
    `inner_precise`, `gen_mask_parallel` and `sync` say how a device calculates, not what.
    """
    unsupported(
        "npu_fusion_attention", padding_mask=padding_mask is not None, prefix=prefix, sink=sink is not None,
        actual_seq_qlen=actual_seq_qlen, actual_seq_kvlen=actual_seq_kvlen, softmax_layout=softmax_layout,
        dropout_mask=dropout_mask is not None, seed=seed, offset=offset,
    )  # fmt: skip
    _checked("npu_fusion_attention", query, head_num, keep_prob)
    width = query.shape[-1] // head_num
    heads = key.shape[-1] // width if input_layout in ("BSH", "SBH") else head_num
    q = _heads_first(query, input_layout, head_num)
    k, v = (_heads_first(t, input_layout, heads) for t in (key, value))
    hidden = _hidden(sparse_mode, atten_mask, q.shape[2], k.shape[2], pre_tockens, next_tockens, query.device)
    made, greatest, total = _attended(q, k, v, scale, pse, hidden, keep_prob)
    rows = (*greatest.shape[:-1], _REPEATED)
    drawn = 0 if keep_prob == 1 else q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2]
    return (
        _laid_out(made, input_layout), greatest.expand(rows).contiguous(), total.expand(rows).contiguous(),
        query.new_empty((0,)), 0, 0, drawn,
    )  # fmt: skip


def _inference(
    name: str, query: Any, key: Any, value: Any, mask: Any, heads: int, scale: float, layout: str, key_heads: int,
    mode: int = _GIVEN, before: int = 0, after: int = 0,
) -> Any:  # fmt: skip
    _checked(name, query, heads)
    q = _heads_first(query, layout, heads)
    k, v = (_heads_first(t, layout, key_heads or heads) for t in (key, value))
    hidden = _hidden(mode, mask, q.shape[2], k.shape[2], before, after, query.device)
    return _laid_out(_attended(q, k, v, scale, None, hidden, 1.0)[0], layout)


@operator(
    "npu_prompt_flash_attention(Tensor query, Tensor key, Tensor value, *, Tensor? padding_mask=None, "
    "Tensor? atten_mask=None, Tensor? pse_shift=None, int[]? actual_seq_lengths=None, Tensor? deq_scale1=None, "
    "Tensor? quant_scale1=None, Tensor? deq_scale2=None, Tensor? quant_scale2=None, Tensor? quant_offset2=None, "
    "int num_heads=1, float scale_value=1.0, int pre_tokens=2147483647, int next_tokens=0, "
    'str input_layout="BSH", int num_key_value_heads=0, int[]? actual_seq_lengths_kv=None, int sparse_mode=0) -> Tensor'
)
def npu_prompt_flash_attention(
    query: Any, key: Any, value: Any, *, padding_mask: Any = None, atten_mask: Any = None, pse_shift: Any = None,
    actual_seq_lengths: Any = None, deq_scale1: Any = None, quant_scale1: Any = None, deq_scale2: Any = None,
    quant_scale2: Any = None, quant_offset2: Any = None, num_heads: int = 1, scale_value: float = 1.0,
    pre_tokens: int = 2147483647, next_tokens: int = 0, input_layout: str = "BSH", num_key_value_heads: int = 0,
    actual_seq_lengths_kv: Any = None, sparse_mode: int = 0,
) -> Any:  # fmt: skip
    """query, key, value in `input_layout` -> attention in it. Without a mask, sparse_mode 0 hides nothing."""
    given = {
        "padding_mask": padding_mask, "pse_shift": pse_shift, "deq_scale1": deq_scale1, "quant_scale1": quant_scale1,
        "deq_scale2": deq_scale2, "quant_scale2": quant_scale2, "quant_offset2": quant_offset2,
        "actual_seq_lengths": actual_seq_lengths, "actual_seq_lengths_kv": actual_seq_lengths_kv,
    }  # fmt: skip
    unsupported("npu_prompt_flash_attention", **{name: value is not None for name, value in given.items()})
    return _inference(
        "npu_prompt_flash_attention", query, key, value, atten_mask, num_heads, scale_value, input_layout,
        num_key_value_heads, sparse_mode, pre_tokens, next_tokens,
    )  # fmt: skip


@operator(
    "npu_incre_flash_attention(Tensor query, Tensor key, Tensor value, *, Tensor? padding_mask=None, "
    "Tensor? atten_mask=None, Tensor? pse_shift=None, SymInt[]? actual_seq_lengths=None, "
    "Tensor? antiquant_scale=None, Tensor? antiquant_offset=None, Tensor? block_table=None, "
    "Tensor? dequant_scale1=None, Tensor? quant_scale1=None, Tensor? dequant_scale2=None, Tensor? quant_scale2=None, "
    "Tensor? quant_offset2=None, Tensor? kv_padding_size=None, int num_heads=1, float scale_value=1.0, "
    'str input_layout="BSH", int num_key_value_heads=0, int block_size=0, int inner_precise=1) -> Tensor'
)
def npu_incre_flash_attention(
    query: Any, key: Any, value: Any, *, padding_mask: Any = None, atten_mask: Any = None, pse_shift: Any = None,
    actual_seq_lengths: Any = None, antiquant_scale: Any = None, antiquant_offset: Any = None,
    block_table: Any = None, dequant_scale1: Any = None, quant_scale1: Any = None, dequant_scale2: Any = None,
    quant_scale2: Any = None, quant_offset2: Any = None, kv_padding_size: Any = None, num_heads: int = 1,
    scale_value: float = 1.0, input_layout: str = "BSH", num_key_value_heads: int = 0, block_size: int = 0,
    inner_precise: int = 1,
) -> Any:  # fmt: skip
    """query of one place, key and value of all until then, in `input_layout` -> attention in it."""
    given = {
        "padding_mask": padding_mask, "pse_shift": pse_shift, "actual_seq_lengths": actual_seq_lengths,
        "antiquant_scale": antiquant_scale, "antiquant_offset": antiquant_offset, "block_table": block_table,
        "dequant_scale1": dequant_scale1, "quant_scale1": quant_scale1, "dequant_scale2": dequant_scale2,
        "quant_scale2": quant_scale2, "quant_offset2": quant_offset2, "kv_padding_size": kv_padding_size,
    }  # fmt: skip
    unsupported("npu_incre_flash_attention", **{name: value is not None for name, value in given.items()})
    return _inference(
        "npu_incre_flash_attention", query, key, value, atten_mask, num_heads, scale_value, input_layout,
        num_key_value_heads,
    )  # fmt: skip
