"""Operators of torch_npu against formulas of their own, with gradients, shapes on meta, and what they refuse."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch as torch
import torch_npu

F = torch.nn.functional
LAYOUTS = ("BNSD", "BSND", "BSH", "SBH")


def close(got: Any, wanted: Any, tolerance: float = 1e-5) -> None:
    assert got.dtype is wanted.dtype and got.shape == wanted.shape
    assert torch.allclose(got, wanted, rtol=tolerance, atol=tolerance), (got - wanted).abs().max()


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def rms(x: Any, gamma: Any) -> Any:
    return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * gamma


def layer_norm(x: Any, gamma: Any, beta: Any, epsilon: float) -> Any:
    return F.layer_norm(x, gamma.shape, gamma, beta, epsilon)


def turned(x: Any) -> Any:
    half = x.shape[-1] // 2
    return torch.cat([-x[..., half:], x[..., :half]], -1)


def turned_in_pairs(x: Any) -> Any:
    made = torch.empty_like(x)
    made[..., ::2], made[..., 1::2] = -x[..., 1::2], x[..., ::2]
    return made


x, y = torch.randn(3, 4, 8, generator=torch.Generator().manual_seed(1)), torch.linspace(-2, 2, 96).reshape(3, 4, 8)
g, b = torch.linspace(0.5, 2, 8), torch.linspace(-1, 1, 8)
m = torch.arange(96).reshape(3, 4, 8) % 3 == 0
cos, sin = torch.linspace(0, 1, 96).reshape(3, 4, 8).cos(), torch.linspace(0, 1, 96).reshape(3, 4, 8).sin()

#: Name -> (operator, formula), of floating-point tensors.
FORMULAS: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = {
    "rms_norm": (lambda x, g: torch_npu.npu_rms_norm(x, g)[0], rms, (x, g)),
    "rstd": (
        lambda x, g: torch_npu.npu_rms_norm(x, g)[1] * g,
        lambda x, g: (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * g, (x, g),
    ),
    "add_rms_norm": (lambda x, y, g: torch_npu.npu_add_rms_norm(x, y, g)[0], lambda x, y, g: rms(x + y, g), (x, y, g)),
    "its sum": (lambda x, y, g: torch_npu.npu_add_rms_norm(x, y, g)[2] * g, lambda x, y, g: (x + y) * g, (x, y, g)),
    "add_layer_norm": (
        lambda x, y, g, b: torch_npu.npu_add_layer_norm(x, y, g, b)[0],
        lambda x, y, g, b: layer_norm(x + y, g, b, 1e-5), (x, y, g, b),
    ),
    "deep_norm": (
        lambda x, y, b, g: torch_npu.npu_deep_norm(x, y, b, g)[2],
        lambda x, y, b, g: layer_norm(0.3 * x + y, g, b, 1e-6), (x, y, b, g),
    ),
    "layer_norm_eval": (
        lambda x, g, b: torch_npu.npu_layer_norm_eval(x, [8], g, b),
        lambda x, g, b: layer_norm(x, g, b, 1e-5), (x, g, b),
    ),
    "group_norm_silu": (
        lambda x, g, b: torch_npu.npu_group_norm_silu(x, g[:4], b[:4], 2)[0],
        lambda x, g, b: F.silu(F.group_norm(x, 2, g[:4], b[:4])), (x, g, b),
    ),
    "swiglu": (torch_npu.npu_swiglu, lambda x: x[..., :4] * torch.sigmoid(x[..., :4]) * x[..., 4:], (x,)),
    "swiglu along 1": (lambda x: torch_npu.npu_swiglu(x, 1), lambda x: F.silu(x[:, :2]) * x[:, 2:], (x,)),
    "geglu": (
        lambda x: torch_npu.npu_geglu(x, -1, 0)[0],
        lambda x: x[..., :4] * x[..., 4:] * 0.5 * (1 + torch.erf(x[..., 4:] / math.sqrt(2))), (x,),
    ),
    "geglu of the left": (
        lambda x: torch_npu.npu_geglu(x, -1, 1, True)[0],
        lambda x: F.gelu(x[..., :4], approximate="tanh") * x[..., 4:], (x,),
    ),
    "fast_gelu": (torch_npu.npu_fast_gelu, lambda x: x / (1 + torch.exp(-1.702 * x)), (x,)),
    "softmax": (
        lambda x: torch_npu.npu_scaled_masked_softmax(x, m.to(x.device), 0.5),
        lambda x: torch.exp(0.5 * x) * ~m / (torch.exp(0.5 * x) * ~m).sum(-1, keepdim=True), (x,),
    ),
    "rotary": (torch_npu.npu_rotary_mul, lambda x, c, s: x * c + turned(x) * s, (x, cos, sin)),
    "rotary in pairs": (
        lambda x, c, s: torch_npu.npu_rotary_mul(x, c, s, "interleave"),
        lambda x, c, s: x * c + turned_in_pairs(x) * s, (x, cos, sin),
    ),
    "rotary of both": (
        lambda x, y, c, s: sum(torch_npu.npu_apply_rotary_pos_emb(x, y, c, s)),
        lambda x, y, c, s: (x + y) * c + turned(x + y) * s, (x, y, cos, sin),
    ),
    "linear": (torch_npu.npu_linear, lambda x, w, b: x @ w.T + b, (x, y[0], b[:4])),
    "bmmV2": (lambda x, y: torch_npu.npu_bmmV2(x, y.mT, [12, 4]), lambda x, y: (x @ y.mT).reshape(12, 4), (x, y)),
    "confusion_transpose": (
        lambda x: torch_npu.npu_confusion_transpose(x, [0, 2, 1, 3], [3, 4, 2, 4], False),
        lambda x: x.reshape(3, 4, 2, 4).permute(0, 2, 1, 3), (x,),
    ),
    "confusion_transpose first": (
        lambda x: torch_npu.npu_confusion_transpose(x, [0, 2, 1], [3, 32], True),
        lambda x: x.permute(0, 2, 1).reshape(3, 32), (x,),
    ),
    "slice": (lambda x: torch_npu.npu_slice(x, [1, 0, 2], [2, -1, 3]), lambda x: x[1:, :, 2:5], (x,)),
    "broadcast": (lambda g: torch_npu.npu_broadcast(g, [2, 8]), lambda g: torch.stack([g, g]), (g,)),
    "max": (lambda x: torch_npu.npu_max(x, 1)[0], lambda x: x.amax(1), (x,)),
    "sort": (lambda x: torch_npu.npu_sort_v2(x, 1, True), lambda x: -torch.sort(-x, 1)[0], (x,)),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
def test_values_gradients_and_shapes_are_those_of_the_formula(name: str) -> None:
    operator, formula, arguments = FORMULAS[name]
    found = []
    for function in (operator, formula):
        leaves = [a.clone().requires_grad_() for a in arguments]
        made = function(*leaves)
        made.backward(torch.linspace(-1, 1, made.numel()).reshape(made.shape))
        found.append((made.detach(), [leaf.grad for leaf in leaves]))
    close(found[0][0], found[1][0])
    for got, wanted in zip(found[0][1], found[1][1], strict=True):
        close(got, wanted, 1e-4)
    if name != "softmax":  # its mask is on the CPU
        on_meta = operator(*[a.to("meta") for a in arguments])
        assert on_meta.device.type == "meta" and on_meta.shape == found[0][0].shape


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_norms_of_half_types_are_calculated_in_float32(half: Any) -> None:
    got, rstd = torch_npu.npu_rms_norm(x.to(half), g.to(half))
    wanted = rms(x.to(half).float(), g.to(half).float()).to(half)
    assert rstd.dtype is torch.float32 and got.dtype is half
    assert torch.equal(got, wanted)


def laid(tensor: Any, layout: str) -> Any:
    """(B, N, S, D) in a layout."""
    order = {"BNSD": (0, 1, 2, 3), "BSND": (0, 2, 1, 3), "BSH": (0, 2, 1, 3), "SBH": (2, 0, 1, 3)}[layout]
    moved = tensor.permute(order)
    return moved.flatten(2) if layout in ("BSH", "SBH") else moved.contiguous()


def inputs(queries: int = 5, keys: int = 7, key_heads: int = 4) -> tuple[Any, Any, Any]:
    return torch.randn(2, 4, queries, 8), torch.randn(2, key_heads, keys, 8), torch.randn(2, key_heads, keys, 8)


@pytest.mark.parametrize("key_heads", [4, 2])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_attention_in_every_layout(layout: str, key_heads: int) -> None:
    q, k, v = inputs(key_heads=key_heads)
    mask = torch.rand(2, 1, 5, 7) < 0.4
    mask[..., 0] = False
    given = [laid(t, layout).requires_grad_() for t in (q, k, v)]
    out, greatest, total, nothing, *drawn = torch_npu.npu_fusion_attention(
        *given, 4, layout, atten_mask=mask, scale=0.3
    )
    leaves = [t.clone().requires_grad_() for t in (q, k, v)]
    wide = [leaves[0], *(t.repeat_interleave(4 // key_heads, 1) for t in leaves[1:])]
    wanted = F.scaled_dot_product_attention(*wide, attn_mask=~mask, scale=0.3)
    close(out, laid(wanted, layout))
    (out * laid(v[:, :1, :1].expand(2, 4, 5, 8), layout)).sum().backward()
    (wanted * v[:, :1, :1]).sum().backward()
    for got, leaf in zip(given, leaves, strict=True):
        close(got.grad, laid(leaf.grad, layout))
    scores = (wide[0] @ wide[1].mT * 0.3).masked_fill(mask, -math.inf).detach()
    close(greatest, scores.amax(-1, keepdim=True).expand(2, 4, 5, 8))
    close(total, (scores - scores.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True).expand(2, 4, 5, 8))
    assert nothing.numel() == 0 and drawn == [0, 0, 0]


@pytest.mark.parametrize(("queries", "keys"), [(5, 7), (7, 5), (6, 6)])
@pytest.mark.parametrize("mode", [2, 3, 4])
def test_modes_that_hide_by_place(mode: int, queries: int, keys: int) -> None:
    q, k, v = inputs(queries, keys)
    out = torch_npu.npu_fusion_attention(q, k, v, 4, "BNSD", sparse_mode=mode, pre_tockens=2, next_tockens=1)[0]
    for i in range(queries):
        corner = i + (0 if mode == 2 else keys - queries)
        seen = [j for j in range(keys) if (corner - 2 <= j <= corner + 1 if mode == 4 else j <= corner)]
        if not seen:
            assert not out[:, :, i].any()
            continue
        weights = (q[:, :, i : i + 1] @ k[:, :, seen].mT).softmax(-1)
        close(out[:, :, i : i + 1], weights @ v[:, :, seen])


def test_dropout_keeps_a_part_and_scales_it() -> None:
    q, k, v = inputs(64, 64)
    out, *_, numel = torch_npu.npu_fusion_attention(q, k, torch.ones_like(v), 4, "BNSD", keep_prob=0.5)
    assert numel == 2 * 4 * 64 * 64
    assert abs(out.mean().item() - 1) < 0.05 and out.std() > 0.05


def test_attention_of_inference() -> None:
    q, k, v = inputs(5, 5)
    causal = torch.ones(5, 5, dtype=torch.bool).triu(1)
    wanted = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3)
    given = [laid(t, "BSH") for t in (q, k, v)]
    made = torch_npu.npu_prompt_flash_attention(*given, num_heads=4, scale_value=0.3, atten_mask=causal)
    close(made, laid(wanted, "BSH"))
    last = torch_npu.npu_incre_flash_attention(given[0][:, -1:], *given[1:], num_heads=4, scale_value=0.3)
    close(last, laid(wanted, "BSH")[:, -1:])


def test_others() -> None:
    values, places = torch_npu.npu_min(x, 1)
    assert places.dtype is torch.int32 and torch.equal(x.gather(1, places.long().unsqueeze(1)).squeeze(1), values)
    hot = torch_npu.npu_one_hot(torch.tensor([1, 0]), depth=3, on_value=2, off_value=-1)
    assert hot.tolist() == [[-1, 2, -1], [2, -1, -1]]
    assert torch_npu.npu_dtype_cast(x, torch.float16).dtype is torch.float16
    assert torch_npu.npu_transpose(x, [2, 0, 1]).is_contiguous()
    assert torch.equal(torch_npu.npu_mish(x), F.mish(x)) and torch.equal(torch_npu.npu_silu(x), F.silu(x))
    assert torch.equal(torch_npu.npu_gelu(x, approximate="tanh"), F.gelu(x, approximate="tanh"))


def test_layouts_of_ascend() -> None:
    assert torch_npu.get_npu_format(x) == torch_npu.Format.ND
    assert torch_npu.npu_format_cast(x, 2) is x
    with pytest.raises(NotImplementedError, match=r"FRACTAL_NZ \(29\)"):
        torch_npu.npu_format_cast(x, 29)
    with pytest.raises(TypeError, match="takes a tensor, not list"):
        torch_npu.npu_format_cast([1], 2)


def test_what_is_not_supported_is_named() -> None:
    q, k, v = inputs()
    for given in (
        {"padding_mask": x}, {"prefix": [1]}, {"actual_seq_qlen": [5]}, {"sink": g}, {"seed": 3},
        {"softmax_layout": "TND"},
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match=next(iter(given))):
            torch_npu.npu_fusion_attention(q, k, v, 4, "BNSD", **given)
    for mode in (5, 6, 7, 8):
        with pytest.raises(NotImplementedError, match=f"not {mode}"):
            torch_npu.npu_fusion_attention(q, k, v, 4, "BNSD", sparse_mode=mode)
    with pytest.raises(NotImplementedError, match="'TND'"):
        torch_npu.npu_fusion_attention(q, k, v, 4, "TND")
    with pytest.raises(RuntimeError, match="mask"):
        torch_npu.npu_fusion_attention(q, k, v, 4, "BNSD", sparse_mode=1)
    with pytest.raises(NotImplementedError, match="quant_scale1"):
        torch_npu.npu_prompt_flash_attention(q, k, v, quant_scale1=g, input_layout="BNSD", num_heads=4)
    with pytest.raises(RuntimeError, match="interleave"):
        torch_npu.npu_rotary_mul(x, cos, sin, "quarter")
    with pytest.raises(RuntimeError, match="no halves"):
        torch_npu.npu_swiglu(torch.ones(3))
    with pytest.raises(AttributeError, match="npu_moe_gating_top_k"):
        torch_npu.npu_moe_gating_top_k  # noqa: B018
    assert not hasattr(torch_npu, "npu_grouped_matmul")


def test_names_of_amp() -> None:
    from torch_npu.npu import amp
    from torch_npu.npu.amp import GradScaler, autocast

    assert torch.npu.amp is amp and amp.autocast is autocast
    assert autocast(enabled=False).device == "npu" and autocast(enabled=False).fast_dtype is torch.float16
    assert GradScaler(init_scale=4.0).get_scale() == 4.0 and isinstance(GradScaler(), torch.amp.GradScaler)
    with pytest.raises(NotImplementedError, match="dynamic=False"):
        GradScaler(dynamic=False)


def test_operators_are_found_under_torch_ops() -> None:
    assert torch.equal(torch.ops.npu.npu_swiglu.default(x), torch_npu.npu_swiglu(x))
    assert str(torch.ops.npu.npu_rms_norm.default._schema).startswith("npu::npu_rms_norm(Tensor self, Tensor gamma")


TRANSFER = """
import mindtorch as torch
from torch_npu.contrib import transfer_to_npu

assert torch.device("cuda:1") == torch.device("npu", 1), torch.device("cuda:1")
assert not torch.ones(2).is_cuda
assert torch.cuda.is_available() == torch.npu.is_available()
assert torch.cuda.device_count is torch.npu.device_count
assert torch.autocast("cuda", enabled=False).device == "npu"
assert torch.amp.GradScaler("cuda").is_enabled()  # of npu, which is not asked for its devices
try:
    torch.ones(2).cuda()
except Exception as error:
    assert "npu" in str(error) and "cuda" not in str(error).split("libr")[0], error
else:
    assert torch.ones(2).cuda().is_cuda and torch.nn.Linear(2, 2).cuda().weight.device.type == "npu"
    assert torch.zeros(2, device="cuda").device.type == "npu"
print("transferred")
"""


def test_programs_for_cuda_are_transferred() -> None:
    ended = subprocess.run([sys.executable, "-c", TRANSFER], capture_output=True, text=True, timeout=120)
    assert ended.stdout.strip().endswith("transferred"), ended.stderr[-2000:]
