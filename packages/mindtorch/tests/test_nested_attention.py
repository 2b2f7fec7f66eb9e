"""Attention modules of nested tensors of the strided layout: as of each component alone, refused in PyTorch's words."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch as torch
from mindtorch.testing import assert_close

E, HEADS = 8, 2
LENGTHS = (3, 1, 5)
REFUSED = "does not support NestedTensor outside of its fast path. The fast path was not hit because "


def nested(lengths: tuple[int, ...] = LENGTHS, width: int = E) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.nested.nested_tensor([torch.randn(n, width) for n in lengths])


def attention(**options: Any) -> torch.nn.MultiheadAttention:
    torch.manual_seed(1)
    made = torch.nn.MultiheadAttention(E, options.pop("heads", HEADS), **{"batch_first": True, **options})
    return made.eval()


@pytest.mark.parametrize("average", [True, False])
@torch.no_grad()
def test_components_attend_to_themselves(average: bool) -> None:
    module, given = attention(), nested()
    result, weights = module(given, given, given, average_attn_weights=average)
    assert result.is_nested and not weights.is_nested
    assert weights.shape == (3, 5, 5) if average else (3, HEADS, 5, 5)
    for which, (one, found) in enumerate(zip(given.unbind(), result.unbind(), strict=True)):
        expected, of_each = module(one[None], one[None], one[None], average_attn_weights=average)
        assert_close(found, expected[0])
        n = len(one)
        assert_close(weights[which, ..., :n, :n], of_each[0])
        assert weights[which, ..., n:, :].eq(0).all() and weights[which, ..., n:].eq(0).all()
    assert module(given, given, given, need_weights=False)[1] is None


@torch.no_grad()
def test_components_without_rows_stay_so() -> None:
    given = nested((2, 0, 3))
    result, _ = attention()(given, given, given)
    assert [tuple(one.shape) for one in result.unbind()] == [(2, E), (0, E), (3, E)]
    assert not any(one.isnan().any() for one in result.unbind())


@torch.no_grad()
def test_keys_and_values_of_their_own() -> None:
    module, query = attention(), nested()
    other = query * 2
    parts = (module.in_proj_weight, module.in_proj_bias, module.out_proj.weight, module.out_proj.bias)
    result, _ = torch._native_multi_head_attention(query, other, other, E, HEADS, *parts, None, False, True, None)
    for one, twice, found in zip(query.unbind(), other.unbind(), result.unbind(), strict=True):
        assert_close(found, module(one[None], twice[None], twice[None])[0][0])


@pytest.mark.parametrize("options", [{}, {"norm_first": True}, {"activation": "gelu"}])
@torch.no_grad()
def test_encoders(options: dict[str, Any]) -> None:
    torch.manual_seed(2)
    layer = torch.nn.TransformerEncoderLayer(E, HEADS, 16, batch_first=True, **options).eval()
    given = nested()
    for module in (layer, torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()):
        for one, found in zip(given.unbind(), module(given).unbind(), strict=True):
            assert_close(found, module(one[None])[0])


@torch.no_grad()
def test_the_whole_is_one_operator_to_autocast() -> None:
    module, given = attention(), nested()
    expected = module(given, given, given)[0]
    with torch.autocast("cpu"):
        result = module(given, given, given)[0]
    assert result.dtype is torch.bfloat16
    for one, other in zip(result.unbind(), expected.unbind(), strict=True):
        assert_close(one.float(), other, rtol=0.05, atol=0.02)


@pytest.mark.parametrize(
    ("options", "arguments", "reason"),
    [
        ({"bias": False}, {}, ""),
        ({"add_bias_kv": True}, {}, "self.bias_k was not None"),
        ({"add_zero_attn": True}, {}, "add_zero_attn was enabled"),
        ({"kdim": 3}, {}, "in_proj_weight was None"),
        ({"batch_first": False}, {}, "batch_first was not True"),
        ({"heads": 1}, {}, "self.num_heads is not even"),
        (
            {"dtype": torch.float64},
            {},
            "dtypes of query (torch.float32) and self.in_proj_bias (torch.float64) don't match",
        ),
        (
            {},
            {"attn_mask": torch.zeros(5, 5, dtype=torch.bool)},
            (
                f"supplying both src_key_padding_mask and src_mask at the same time{' ' * 33} is not supported with "
                "NestedTensor input"
            ),
        ),
    ],
)
@torch.no_grad()
def test_what_is_refused(options: dict[str, Any], arguments: dict[str, Any], reason: str) -> None:
    given = nested()
    with pytest.raises(AssertionError) as caught:
        attention(**options)(given, given, given, **arguments)
    assert str(caught.value).endswith(REFUSED + reason)


def test_training_is_refused() -> None:
    given, module = nested(), attention()
    with pytest.raises(AssertionError, match="grad is enabled and at least one of query or the input/output"):
        module(given, given, given)
    with pytest.raises(AssertionError, match="training is enabled"):
        module.train()(given, given, given)
    with torch.no_grad(), pytest.raises(AssertionError, match="non-self attention was used"):
        module.eval()(given, given * 2, given)
    with pytest.raises(RuntimeError, match="NestedTensor with mask is not supported yet"):
        parts = (module.in_proj_weight, module.in_proj_bias, module.out_proj.weight, module.out_proj.bias)
        mask = torch.zeros(3, 5, dtype=torch.bool)
        torch._native_multi_head_attention(given, given, given, E, HEADS, *parts, mask, False, True, 1)
