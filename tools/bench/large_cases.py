"""Large kernels, whole models, and single kernels of growing size, for a module that looks like ``torch``."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

__all__ = ["GROUPS", "SIZES", "backward", "forward", "growth", "steps"]

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


def _models(torch: ModuleType) -> dict[str, tuple[Any, Any, int]]:
    """Name -> (model, inputs, classes)."""
    nn = torch.nn

    class Residual(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(inputs, outputs, 3, stride, 1), nn.Conv2d(outputs, outputs, 3, 1, 1)
            self.norms = nn.ModuleList([nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)])
            self.beside = nn.Conv2d(inputs, outputs, 1, stride)

        def forward(self, x: Any) -> Any:
            y = self.norms[1](self.second(self.norms[0](self.first(x)).relu()))
            return (y + self.beside(x)).relu()

    class Sequence(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, body: Any, width: int) -> None:
            super().__init__()
            self.words, self.body, self.head = nn.Embedding(2000, width), body, nn.Linear(width, 20)

        def forward(self, tokens: Any) -> Any:
            found = self.body(self.words(tokens))
            return self.head((found[0] if isinstance(found, tuple) else found).mean(1))

    def encoder(width: int, layers: int) -> Any:
        layer = nn.TransformerEncoderLayer(width, width // 32, 4 * width, 0.1, "gelu", batch_first=True)
        return Sequence(nn.TransformerEncoder(layer, layers, enable_nested_tensor=False), width)

    stages = [Residual(16, 16, 1), Residual(16, 32, 2), Residual(32, 64, 2)]
    residual = nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1), *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 20)
    )
    dense = nn.Sequential(nn.Linear(512, 384), nn.ReLU(), nn.Linear(384, 128), nn.ReLU(), nn.Linear(128, 20))
    tokens = torch.randint(0, 2000, (8, 48))
    return {
        "dense": (dense, torch.randn(96, 512), 20),
        "residual network": (residual, torch.randn(12, 3, 32, 32), 20),
        "recurrent (GRU)": (Sequence(nn.GRU(64, 64, 2, batch_first=True), 64), tokens, 20),
        "transformer, width 64": (encoder(64, 2), tokens, 20),
        "transformer, width 256": (encoder(256, 3), tokens, 20),
    }


def steps(torch: ModuleType, training: bool) -> dict[str, Case]:
    """Steps of training, or passes forward in evaluation mode, of small models."""
    torch.manual_seed(0)
    made = {}
    for name, (model, inputs, classes) in _models(torch).items():
        labels = torch.randint(0, classes, (len(inputs),))
        made[name] = _step(torch, model, inputs, labels) if training else _pass(torch, model, inputs)
    return made


def _step(torch: ModuleType, model: Any, inputs: Any, labels: Any) -> Case:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def run() -> None:
        model.train()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return run


def _pass(torch: ModuleType, model: Any, inputs: Any) -> Case:
    def run() -> None:
        model.eval()
        with torch.no_grad():
            model(inputs)

    return run


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


#: Group -> what makes its calls.
GROUPS: dict[str, Callable[[ModuleType], dict[str, Case]]] = {
    "forward": forward,
    "backward": backward,
    "training step": lambda torch: steps(torch, True),
    "forward pass": lambda torch: steps(torch, False),
    "growth": growth,
}
