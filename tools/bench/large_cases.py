"""Large kernels, and single kernels of growing size, for a module that looks like ``torch``."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

__all__ = ["SIZES", "backward", "forward", "growth"]

Case = Callable[[], Any]

#: Elements of the kernels that are measured as they grow.
SIZES = tuple(10**k for k in range(9))


def forward(torch: ModuleType) -> dict[str, Case]:
    """Single operators whose time is arithmetic and memory, without gradients."""
    torch.manual_seed(0)
    functional = torch.nn.functional
    rows, square, other = torch.randn(2048, 2048), torch.randn(768, 768), torch.randn(768, 768)
    half, whole, chosen = rows.bfloat16(), (rows * 50).int(), rows > 0
    images, volume = torch.randn(8, 48, 48, 48), torch.randn(2, 8, 16, 24, 24)
    of_images, of_channels, points = torch.randn(96, 48, 3, 3), torch.randn(48, 1, 3, 3), torch.randn(96, 48, 1, 1)
    heads, scores, classes = torch.randn(4, 8, 384, 64), torch.randn(256, 20000), torch.randint(0, 20000, (256,))
    words, tokens, lines = torch.randn(20000, 192), torch.randint(0, 20000, (16, 256)), torch.randint(0, 2048, (1024,))
    ones, zeros, signal = torch.ones(2048), torch.zeros(2048), torch.randn(256, 4096)
    window = torch.randn(8, 3, 5, 5, 5)
    calls: dict[str, Case] = {
        "add": lambda: rows + rows,
        "add of bfloat16": lambda: half + half,
        "add of int32": lambda: whole + whole,
        "add, broadcast": lambda: rows + ones,
        "exp": rows.exp,
        "tanh": rows.tanh,
        "gelu": lambda: functional.gelu(rows),
        "silu": lambda: functional.silu(rows),
        "where": lambda: torch.where(chosen, rows, zeros),
        "masked_fill": lambda: rows.masked_fill(chosen, 0.0),
        "compare": lambda: rows > 0.25,
        "to bfloat16": rows.bfloat16,
        "from bfloat16": half.float,
        "transposed copy": lambda: rows.t().contiguous(),
        "to channels_last": lambda: images.contiguous(memory_format=torch.channels_last),
        "cat": lambda: torch.cat([rows, rows], 1),
        "sum": rows.sum,
        "sum along rows": lambda: rows.sum(1),
        "sum along columns": lambda: rows.sum(0),
        "max along rows": lambda: rows.max(1),
        "var along rows": lambda: rows.var(1),
        "norm": rows.norm,
        "cumsum": lambda: rows.cumsum(1),
        "sort": lambda: rows.sort(1),
        "topk": lambda: rows.topk(16),
        "unique": lambda: torch.unique(whole),
        "softmax": lambda: rows.softmax(-1),
        "layer_norm": lambda: functional.layer_norm(rows, (2048,), ones, zeros),
        "group_norm": lambda: functional.group_norm(images, 6),
        "batch_norm": lambda: functional.batch_norm(images, None, None, training=True),
        "cross_entropy": lambda: functional.cross_entropy(scores, classes),
        "embedding": lambda: functional.embedding(tokens, words),
        "rows by index": lambda: rows[lines],
        "gather": lambda: rows.gather(1, lines.expand(2048, 1024)),
        "index_add": lambda: torch.zeros(2048, 2048).index_add_(0, lines, rows[:1024]),
        "elements by mask": lambda: rows[chosen],
        "matmul": lambda: square @ other,
        "matmul of bfloat16": lambda: half[:768, :768] @ half[:768, :768],
        "bmm": lambda: torch.bmm(heads.flatten(0, 1), heads.flatten(0, 1).transpose(1, 2)),
        "attention": lambda: functional.scaled_dot_product_attention(heads, heads, heads),
        "causal attention": lambda: functional.scaled_dot_product_attention(heads, heads, heads, is_causal=True),
        "conv, 3x3": lambda: functional.conv2d(images, of_images, padding=1),
        "conv, 3x3, stride 2": lambda: functional.conv2d(images, of_images, padding=1, stride=2),
        "conv, 1x1": lambda: functional.conv2d(images, points),
        "conv, depthwise": lambda: functional.conv2d(images, of_channels, padding=1, groups=48),
        "conv, transposed": lambda: functional.conv_transpose2d(images, of_images.transpose(0, 1), stride=2),
        "conv of volumes": lambda: functional.conv3d(volume[:, :3], window, padding=2),
        "max_pool": lambda: functional.max_pool2d(images, 3, 2, 1),
        "avg_pool": lambda: functional.avg_pool2d(images, 2),
        "bilinear": lambda: functional.interpolate(images, scale_factor=2.0, mode="bilinear"),
        "bicubic": lambda: functional.interpolate(images, size=(31, 31), mode="bicubic"),
        "antialias": lambda: functional.interpolate(images, size=(17, 17), mode="bilinear", antialias=True),
        "randn": lambda: torch.randn(1 << 20),
        "dropout": lambda: functional.dropout(rows, 0.2),
        "randperm": lambda: torch.randperm(1 << 19),
        "rfft": lambda: torch.fft.rfft(signal),
        "fft2": lambda: torch.fft.fft2(images),
    }
    return {name: _without_gradient(torch, call) for name, call in calls.items()}


def _without_gradient(torch: ModuleType, call: Case) -> Case:
    def run() -> Any:
        with torch.no_grad():
            return call()

    return run


def backward(torch: ModuleType) -> dict[str, Case]:
    """Single operators and the gradients of the sum of their results."""
    torch.manual_seed(0)
    functional = torch.nn.functional
    rows, images = torch.randn(1024, 1536), torch.randn(8, 24, 32, 32)
    weights, kernels, depthwise = torch.randn(768, 1536), torch.randn(48, 24, 3, 3), torch.randn(24, 1, 3, 3)
    heads, scores, words = torch.randn(2, 8, 192, 64), torch.randn(256, 20000), torch.randn(20000, 128)
    ones, zeros = torch.ones(1536), torch.zeros(1536)
    classes, tokens = torch.randint(0, 20000, (256,)), torch.randint(0, 20000, (16, 128))
    leaves = [rows, images, weights, kernels, depthwise, heads, scores, words, ones, zeros]
    for leaf in leaves:
        leaf.requires_grad_()

    def with_gradient(call: Case) -> Case:
        def run() -> None:
            for leaf in leaves:
                leaf.grad = None
            call().sum().backward()

        return run

    calls: dict[str, Case] = {
        "relu": rows.relu,
        "gelu": lambda: functional.gelu(rows),
        "softmax": lambda: rows.softmax(-1) * rows,
        "layer_norm": lambda: functional.layer_norm(rows, (1536,), ones, zeros),
        "linear": lambda: functional.linear(rows, weights),
        "conv, 3x3": lambda: functional.conv2d(images, kernels, padding=1),
        "conv, 3x3, stride 2": lambda: functional.conv2d(images, kernels, padding=1, stride=2),
        "conv, depthwise": lambda: functional.conv2d(images, depthwise, padding=1, groups=24),
        "batch_norm": lambda: functional.batch_norm(images, None, None, training=True),
        "max_pool": lambda: functional.max_pool2d(images, 2),
        "bilinear": lambda: functional.interpolate(images, scale_factor=2.0, mode="bilinear"),
        "attention": lambda: functional.scaled_dot_product_attention(heads, heads, heads),
        "cross_entropy": lambda: functional.cross_entropy(scores, classes),
        "embedding": lambda: functional.embedding(tokens, words),
        "rows by index": lambda: rows[torch.arange(0, 1024, 3)],
        "dropout": lambda: functional.dropout(rows, 0.2),
    }
    return {name: with_gradient(call) for name, call in calls.items()}


def growth(torch: ModuleType) -> dict[str, Case]:
    """Kernels from one element to 10^8, fewer where they need more arithmetic."""
    made: dict[str, Case] = {}
    for size in SIZES:
        x = torch.ones(size)
        made[f"add/{size}"] = _without_gradient(torch, lambda x=x: x + x)
        made[f"sum/{size}"] = _without_gradient(torch, x.sum)
        if size <= SIZES[-2]:
            made[f"exp/{size}"] = _without_gradient(torch, x.exp)
        edge = round(size**0.5)
        if edge * edge == size and edge <= 1000:
            square = torch.ones(edge, edge)
            made[f"matmul/{size}"] = _without_gradient(torch, lambda a=square: a @ a)
    return made
