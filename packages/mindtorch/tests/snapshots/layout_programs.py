"""Operators whose results are laid out as their input's memory format suggests: what `make_layouts.py` asks PyTorch.

`layouts_of(torch)` says the strides of what every program gives for every memory format, and of its gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: Shapes of images and volumes; no size is 1, along which strides mean nothing.
SHAPES = {"image": (2, 4, 6, 8), "volume": (2, 4, 6, 6, 6)}

#: Name -> how a tensor of that format is made of a row-major one.
FORMATS = {
    "row_major": "x",
    "channels_last": "x.contiguous(memory_format=torch.channels_last if x.dim() == 4 else torch.channels_last_3d)",
    "transposed": "x.transpose(-1, -2).contiguous().transpose(-1, -2)",
    "batch_inside": "x.transpose(0, 1).contiguous().transpose(0, 1)",
    "with_gaps": "torch.cat([x, x], -1)[..., ::2]",
}

_ANY = """
F.batch_norm(x, None, None, training=True)
F.batch_norm(x, torch.zeros(4), torch.ones(4), training=False)
F.group_norm(x, 2)
F.instance_norm(x)
F.layer_norm(x, x.shape[1:])
F.local_response_norm(x, 3)
F.channel_shuffle(x, 2)
F.channel_shuffle(x, 1)
torch.cat([x, x], 1)
torch.cat([x, x])
torch.cat([x, x.contiguous()], 1)
torch.stack([x, x], 1)
torch.stack([x, x])
torch.stack([x, x], -1)
F.pad(x, (1, 1, 1, 1))
F.pad(x, (-1, 1, 0, 0))
F.pad(x, (0, 0))
F.relu(x)
F.gelu(x)
F.silu(x)
F.hardswish(x)
F.softmax(x, 1)
F.log_softmax(x, -1)
F.normalize(x)
x + 1
x * x.contiguous()
x + torch.ones(x.shape[-1])
torch.where(x > 0, x, 0.0)
x.clone()
x.double()
x.contiguous()
torch.empty_like(x)
torch.zeros_like(x)
F.mse_loss(x, x, reduction="none").detach()
F.interpolate(x, scale_factor=2)
F.interpolate(x, size=x.shape[2:])
F.interpolate(x, scale_factor=2, mode="nearest-exact")
"""

PROGRAMS: dict[str, list[str]] = {
    "image": [
        *_ANY.strip().split("\n"),
        *"""
F.conv2d(x, torch.ones(8, 4, 3, 3))
F.conv2d(x, torch.ones(8, 4, 3, 3), torch.ones(8), 2, 1)
F.conv2d(x, torch.ones(8, 4, 1, 1))
F.conv2d(x, torch.ones(8, 2, 3, 3), groups=2)
F.conv2d(x, torch.ones(4, 1, 3, 3), groups=4)
F.conv2d(x, torch.ones(8, 4, 3, 3), padding="same")
F.conv2d(x, torch.ones(8, 4, 3, 3).to(memory_format=torch.channels_last))
F.conv_transpose2d(x, torch.ones(4, 6, 3, 3))
F.conv_transpose2d(x, torch.ones(4, 6, 3, 3), stride=2, output_padding=1)
F.conv_transpose2d(x, torch.ones(4, 6, 3, 3).to(memory_format=torch.channels_last))
F.avg_pool2d(x, 2)
F.max_pool2d(x, 2)
F.max_pool2d(x, 3, 2, 1, return_indices=True)[1]
F.lp_pool2d(x, 2, 2)
F.adaptive_avg_pool2d(x, 3)
F.adaptive_max_pool2d(x, 3)
F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)
F.interpolate(x, scale_factor=2, mode="bilinear")
F.interpolate(x, size=(5, 7), mode="bilinear", align_corners=True)
F.interpolate(x, size=x.shape[2:], mode="bilinear")
F.interpolate(x, scale_factor=2, mode="bicubic")
F.interpolate(x, size=(3, 4), mode="bilinear", antialias=True)
F.interpolate(x, size=(3, 4), mode="bicubic", antialias=True)
F.interpolate(x, size=(3, 4), mode="area")
F.pad(x, (1, 1, 1, 1), mode="reflect")
F.pad(x, (1, 1, 1, 1), mode="replicate")
F.pixel_shuffle(x.repeat_interleave(2, 1), 2)
F.pixel_unshuffle(x, 2)
F.unfold(x, 2)
F.max_pool3d(x, 2)
F.adaptive_avg_pool3d(x, 2)
""".strip().split("\n"),
    ],
    "volume": [
        *_ANY.strip().split("\n"),
        *"""
F.conv3d(x, torch.ones(8, 4, 3, 3, 3))
F.conv3d(x, torch.ones(8, 4, 3, 3, 3).to(memory_format=torch.channels_last_3d))
F.conv_transpose3d(x, torch.ones(4, 6, 3, 3, 3))
F.avg_pool3d(x, 2)
F.max_pool3d(x, 2)
F.max_pool3d(x, 2, return_indices=True)[1]
F.adaptive_avg_pool3d(x, 2)
F.adaptive_max_pool3d(x, 2)
F.max_unpool3d(*F.max_pool3d(x, 2, return_indices=True), 2)
F.interpolate(x, scale_factor=2, mode="trilinear")
F.pad(x, (1, 1, 1, 1, 1, 1), mode="reflect")
F.pad(x, (1, 1, 1, 1, 1, 1), mode="replicate")
""".strip().split("\n"),
    ],
}


def layouts_of(torch: Any) -> Iterator[tuple[str, list[Any]]]:
    """(shape, format and program; strides of the result and of the input's gradient, or the refusal's type)."""
    for kind, programs in PROGRAMS.items():
        for format_, made in FORMATS.items():
            for program in programs:
                yield f"{kind}, {format_}: {program}", list(_answers(torch, SHAPES[kind], made, program))


def _answers(torch: Any, shape: tuple[int, ...], made: str, program: str) -> Iterator[Any]:
    names = {"torch": torch, "F": torch.nn.functional}
    names["x"] = torch.linspace(-1, 1, torch.Size(shape).numel()).reshape(shape)
    names["x"] = x = eval(made, names).requires_grad_()  # noqa: S307 - our own words
    try:
        result = eval(program, names)  # noqa: S307
    except RuntimeError as error:
        yield type(error).__name__
        return
    yield list(result.stride())
    if result.requires_grad:
        yield list(torch.autograd.grad(result, x, torch.ones_like(result))[0].stride())
