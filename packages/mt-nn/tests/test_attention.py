"""Attention in its several forms gives the same results."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mt_core as mt
import mt_nn as nn
import mt_nn.functional as F
from mt_nn.attention import SDPBackend, _cur_sdpa_kernel_backends, sdpa_kernel
from mt_nn.attention.bias import causal_lower_right, causal_upper_left
from mt_nn.attention.flex_attention import (
    AuxRequest,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)


def causal(b, h, q, kv):
    return q >= kv


def near(b, h, q, kv):
    return (q - kv).abs() < 3


def inputs(queries=7, keys=7, heads=2, key_heads=2):
    return mt.randn(2, heads, queries, 4), mt.randn(2, key_heads, keys, 4), mt.randn(2, key_heads, keys, 5)


def test_flex_attention_without_functions_is_attention():
    q, k, v = inputs(5, 7)
    assert mt.allclose(flex_attention(q, k, v), F.scaled_dot_product_attention(q, k, v), atol=1e-6)


@pytest.mark.parametrize("block", [1, 3, 128, (2, 5)])
def test_flex_attention_with_a_block_mask(block):
    q, k, v = inputs()
    mask = create_block_mask(causal, None, None, 7, 7, BLOCK_SIZE=block)
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert mt.allclose(flex_attention(q, k, v, block_mask=mask), expected, atol=1e-6)


def test_flex_attention_with_changed_scores():
    q, k, v = inputs()
    slope = mt.tensor([0.5, 0.25])

    def alibi(score, b, h, q_idx, kv_idx):
        return score + slope[h] * (kv_idx - q_idx)

    positions = mt.arange(7)
    bias = slope.view(2, 1, 1) * (positions - positions.view(-1, 1))
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    assert mt.allclose(flex_attention(q, k, v, score_mod=alibi), expected, atol=1e-6)


def test_flex_attention_shares_key_heads():
    q, k, v = inputs(heads=4, key_heads=2)
    with pytest.raises(ValueError, match="enable_gqa=True"):
        flex_attention(q, k, v)
    expected = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    assert mt.allclose(flex_attention(q, k, v, enable_gqa=True), expected, atol=1e-6)


def test_flex_attention_returns_more_when_asked():
    q, k, v = inputs()
    scores = q @ k.transpose(-2, -1) / math.sqrt(4)
    output, lse = flex_attention(q, k, v, return_lse=True)
    assert mt.allclose(lse, scores.logsumexp(-1), atol=1e-6)
    again, aux = flex_attention(q, k, v, return_aux=AuxRequest(max_scores=True))
    assert mt.equal(again, output) and aux.lse is None
    assert mt.allclose(aux.max_scores, scores.amax(-1), atol=1e-6)


def test_queries_without_any_key_get_zeros():
    q, k, v = inputs()
    mask = create_block_mask(lambda b, h, q_idx, kv_idx: (q_idx > 2) & (kv_idx >= 0), None, None, 7, 7)
    output = flex_attention(q, k, v, block_mask=mask)
    assert (output[:, :, :3] == 0).all() and not output.isnan().any()


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 4), st.integers(1, 4))
def test_a_block_is_listed_exactly_if_it_has_a_pair(queries, keys, rows, columns):
    mask = create_block_mask(near, None, None, queries, keys, BLOCK_SIZE=(rows, columns))
    elements = create_mask(near, None, None, queries, keys)[0, 0]
    dense = mask.to_dense()[0, 0]
    for row in range(dense.shape[0]):
        for column in range(dense.shape[1]):
            block = elements[row * rows : (row + 1) * rows, column * columns : (column + 1) * columns]
            assert bool(dense[row, column]) == bool(block.any())


def test_masks_combine():
    for combined, expected in (
        (and_masks(causal, near), lambda a, b: a & b),
        (or_masks(causal, near), lambda a, b: a | b),
        (and_masks(causal, noop_mask), lambda a, b: a),
    ):
        found = create_mask(combined, None, None, 6, 6)
        assert mt.equal(found, expected(create_mask(causal, None, None, 6, 6), create_mask(near, None, None, 6, 6)))


def attend(dropout_p: float = 0.0) -> str:
    """The error of attention, or that it computed."""
    try:
        F.scaled_dot_product_attention(*inputs(), dropout_p=dropout_p)
    except RuntimeError as error:
        return str(error).split(".")[0]
    return "computed"


NOTHING = "No viable backend for scaled_dot_product_attention was found"


@pytest.mark.parametrize(
    ("allowed", "plain", "with_dropout"),
    [
        ([SDPBackend.MATH], "computed", "computed"),
        ([SDPBackend.FLASH_ATTENTION], "computed", "No available kernel"),
        ([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], "computed", "computed"),
        ([SDPBackend.EFFICIENT_ATTENTION], NOTHING, NOTHING),
        ([SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION], NOTHING, NOTHING),
        ([], NOTHING, NOTHING),
    ],
)
def test_attention_needs_an_implementation_that_is_allowed(allowed, plain, with_dropout):
    with sdpa_kernel(allowed):
        assert (attend(), attend(0.5)) == (plain, with_dropout)
        meta = mt.empty(1, 1, 2, 3, device="meta")
        assert F.scaled_dot_product_attention(meta, meta, meta).shape == (1, 1, 2, 3)
    assert attend() == "computed"


def test_the_switches_come_back_and_keep_their_order():
    before = _cur_sdpa_kernel_backends(with_priority=True)
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True):
        assert _cur_sdpa_kernel_backends(with_priority=True) == [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]
    assert _cur_sdpa_kernel_backends(with_priority=True) == before
    with pytest.raises(AssertionError, match="instances, got int"), sdpa_kernel(3):
        pass


def test_causal_masks_start_or_end_at_a_corner():
    assert causal_upper_left(2, 4).tolist() == [[True, False, False, False], [True, True, False, False]]
    assert causal_lower_right(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]


@pytest.mark.parametrize("options", [{}, {"batch_first": True}, {"add_bias_kv": True}, {"add_zero_attn": True}])
def test_multihead_attention_with_and_without_weights(options):
    attention = nn.MultiheadAttention(6, 3, **options)
    x = mt.randn(4, 2, 6)
    keys = x.shape[1] if options.get("batch_first") else x.shape[0]
    batch = x.shape[0] if options.get("batch_first") else x.shape[1]
    padding = mt.zeros(batch, keys, dtype=mt.bool)
    padding[0, -1] = True
    slow, weights = attention(x, x, x, key_padding_mask=padding)
    fast, nothing = attention(x, x, x, key_padding_mask=padding, need_weights=False)
    assert mt.allclose(slow, fast, atol=1e-6) and nothing is None
    assert mt.allclose(weights.sum(-1), mt.ones(weights.shape[:-1]), atol=1e-6)
    assert (weights[0, :, keys - 1] == 0).all()


def test_separate_projections_equal_packed_ones():
    packed = nn.MultiheadAttention(6, 3)
    apart = nn.MultiheadAttention(6, 3)
    state = packed.state_dict()
    weights = state.pop("in_proj_weight").chunk(3)
    apart._qkv_same_embed_dim = False
    for name, weight in zip("qkv", weights, strict=True):
        setattr(apart, f"{name}_proj_weight", nn.Parameter(weight.clone()))
    apart.load_state_dict(state, strict=False)
    q, k = mt.randn(3, 2, 6), mt.randn(5, 2, 6)
    for arguments in ((q, k, k), (q, q, q), (q, k, mt.randn(5, 2, 6))):
        assert mt.allclose(packed(*arguments)[0], apart(*arguments)[0], atol=1e-6)


def test_a_single_sample_is_a_batch_of_one():
    attention = nn.MultiheadAttention(6, 3)
    x = mt.randn(4, 6)
    single, _ = attention(x, x, x)
    batch, _ = attention(x.unsqueeze(1), x.unsqueeze(1), x.unsqueeze(1))
    assert mt.allclose(single, batch.squeeze(1), atol=1e-6)


def test_a_decoder_does_not_look_ahead():
    layer = nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0)
    decoder = nn.TransformerDecoder(layer, 2)
    memory, target = mt.randn(3, 1, 4), mt.randn(5, 1, 4)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    whole = decoder(target, memory, tgt_mask=mask)
    part = decoder(target[:3], memory, tgt_mask=mask[:3, :3])
    assert mt.allclose(whole[:3], part, atol=1e-5)


def test_an_encoder_in_evaluation_gives_zeros_for_padding():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2).eval()
    x = mt.randn(2, 4, 4)
    padding = mt.tensor([[False, False, True, True], [False, False, False, True]])
    with mt.no_grad():
        output = encoder(x, src_key_padding_mask=padding)
        alone = encoder(x[:1, :2])
    assert (output[padding] == 0).all()
    assert mt.allclose(output[:1, :2], alone, atol=1e-5)
    assert not (encoder(x, src_key_padding_mask=padding)[padding] == 0).all()  # gradients are recorded


@pytest.mark.parametrize("batch, rows, keys, width", [(0, 2, 2, 3), (1, 0, 2, 3), (1, 2, 0, 3), (1, 2, 2, 0)])
@pytest.mark.parametrize("causal_", [False, True])
def test_what_attends_to_nothing_has_gradients_of_zero(batch, rows, keys, width, causal_):
    inputs = [mt.rand(batch, 2, n, e, requires_grad=True) for n, e in ((rows, 4), (keys, 4), (keys, width))]
    out = F.scaled_dot_product_attention(*inputs, is_causal=causal_)
    assert out.shape == (batch, 2, rows, width) and not out.count_nonzero().item()
    out.sum().backward()
    assert all(x.grad is not None and x.grad.shape == x.shape and not x.grad.count_nonzero() for x in inputs)


def test_layers_without_a_batch_give_gradients_to_all_parameters():
    layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
    layer(mt.rand(0, 3, 8, requires_grad=True)).sum().backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (2, 0, 1, 3), (1, 0, 2, 3)])
@pytest.mark.parametrize("dtype", [mt.float32, mt.float64, mt.bfloat16])
@pytest.mark.parametrize("grad", [False, True])
def test_fused_attention_lies_in_memory_as_its_query_does(order, dtype, grad):
    back = [order.index(d) for d in range(4)]
    sizes = [(2, 3, 5, 4)[d] for d in order]
    query, key, value = mt.randn(3, *sizes).to(dtype).unbind(0)
    query = query.permute(back).requires_grad_(grad)
    key, value = key.permute(back), value.permute(back)
    out = F.scaled_dot_product_attention(query, key, value)
    assert out.permute(order).is_contiguous()
    assert out.allclose(F.scaled_dot_product_attention(*(x.contiguous() for x in (query, key, value))))
    mask = mt.zeros(5, 5, dtype=dtype)
    assert F.scaled_dot_product_attention(query, key, value, mask).permute(order).is_contiguous()
    for unfused in (
        lambda: F.scaled_dot_product_attention(query, key, value, mask.requires_grad_()),
        lambda: F.scaled_dot_product_attention(query, key, value, dropout_p=0.5),
        lambda: F.scaled_dot_product_attention(query[0], key[0], value[0]),
        lambda: F.scaled_dot_product_attention(query, key, value[..., :2]),
    ):
        assert unfused().is_contiguous()
    with sdpa_kernel(SDPBackend.MATH):
        assert F.scaled_dot_product_attention(query, key, value).is_contiguous()
