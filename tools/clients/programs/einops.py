"""Layers of einops in a small network, trained."""

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce


def program():
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8, 8)
    yield "patches", rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
    yield "pooled", reduce(x, "b c (h 2) (w 2) -> b c h w", "max")
    yield "repeated", repeat(x[0, 0], "h w -> h (w r)", r=2).stride()
    yield "contracted", einsum(x, x, "b c h w, b d h w -> b c d")
    packed, shapes = pack([x, x.mean(1)], "b * h w")
    yield "unpacked", [piece.shape for piece in unpack(packed, shapes, "b * h w")]
    model = torch.nn.Sequential(
        Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4),
        EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=48, d=16),
        torch.nn.GELU(),
        Reduce("b t d -> b d", "mean"),
        torch.nn.Linear(16, 2),
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(5):
        loss = torch.nn.functional.cross_entropy(model(x), torch.tensor([0, 1]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield f"loss {step}", loss
