"""Whole models, for a module that looks like ``torch``: steps of training and passes forward."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from tools.bench import cases

__all__ = ["passes", "steps"]

Case = Callable[[], Any]

#: Sizes of the model that generates: tokens that are known before, and tokens that are generated.
KNOWN, GENERATED = 16, 64


class _Kinds:
    """Kinds of modules, made of the `nn` that is measured."""

    def __init__(self, torch: ModuleType) -> None:
        nn, functional = torch.nn, torch.nn.functional

        class Residual(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self, inputs: int, outputs: int, stride: int) -> None:
                super().__init__()
                self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
                self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
                self.norms = nn.ModuleList([nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)])
                self.beside = (
                    nn.Identity() if stride == 1 and inputs == outputs else nn.Conv2d(inputs, outputs, 1, stride)
                )

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

        class Cached(nn.Module):  # type: ignore[misc, name-defined]
            """A layer of a language model that keeps the keys and values of what it has seen."""

            def __init__(self, width: int, heads: int) -> None:
                super().__init__()
                self.heads, self.width = heads, width
                self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
                self.project, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
                self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

            def forward(self, x: Any, seen: Any) -> Any:
                batch, length, width = x.shape
                parts = self.project(self.before(x)).view(batch, length, 3, self.heads, width // self.heads)
                query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
                if seen is not None:
                    key, value = torch.cat([seen[0], key], 2), torch.cat([seen[1], value], 2)
                mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=seen is None)
                x = x + self.output(mixed.transpose(1, 2).reshape(batch, length, width))
                return x + self.down(functional.gelu(self.up(self.after(x)))), (key, value)

        self.nn, self.Residual, self.Sequence, self.Cached = nn, Residual, Sequence, Cached

    def encoder(self, width: int, layers: int) -> Any:
        layer = self.nn.TransformerEncoderLayer(width, width // 32, 4 * width, 0.1, "gelu", batch_first=True)
        return self.Sequence(self.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False), width)

    def residual(self, widths: tuple[int, ...], each: int, classes: int) -> Any:
        """A residual network: stages of `each` blocks, all but the first of which halve the image."""
        nn, stages, before = self.nn, [], widths[0]
        for number, width in enumerate(widths):
            for block in range(each):
                stages.append(self.Residual(before, width, 2 if number and not block else 1))
                before = width
        head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes)]
        return nn.Sequential(nn.Conv2d(3, widths[0], 3, 1, 1), nn.BatchNorm2d(widths[0]), nn.ReLU(), *stages, *head)


def _models(torch: ModuleType) -> dict[str, tuple[Any, Any, int]]:
    """Name -> (model, inputs, classes)."""
    nn, kinds = torch.nn, _Kinds(torch)
    dense = nn.Sequential(nn.Linear(512, 384), nn.ReLU(), nn.Linear(384, 128), nn.ReLU(), nn.Linear(128, 20))
    tokens = torch.randint(0, 2000, (8, 48))
    last = kinds.residual((32, 64, 128, 256), 2, 20).to(memory_format=torch.channels_last)
    image = torch.randn(4, 3, 40, 40).contiguous(memory_format=torch.channels_last)
    return {
        "dense": (dense, torch.randn(96, 512), 20),
        "residual network": (kinds.residual((16, 32, 64), 1, 20), torch.randn(12, 3, 32, 32), 20),
        "ResNet-18's blocks, channels_last": (last, image, 20),
        "GRU": (kinds.Sequence(nn.GRU(64, 64, 2, batch_first=True), 64), tokens, 20),
        "LSTM": (kinds.Sequence(nn.LSTM(64, 64, 1, batch_first=True), 64), tokens, 20),
        "transformer, width 64": (kinds.encoder(64, 2), tokens, 20),
        "transformer, width 256": (kinds.encoder(256, 3), tokens, 20),
    }


def steps(torch: ModuleType) -> dict[str, Case]:
    """Steps of training, and gradients of each sample."""
    torch.manual_seed(0)
    made = {}
    for name, (model, inputs, classes) in _models(torch).items():
        made[name] = _step(torch, model, inputs, torch.randint(0, classes, (len(inputs),)))
    made["tiny BERT, bfloat16 autocast"] = _bert_step(torch)
    made["gradients by sample"] = _by_sample(torch)
    return made


def passes(torch: ModuleType) -> dict[str, Case]:
    """Passes forward in evaluation mode, and the generation of tokens with a cache."""
    torch.manual_seed(0)
    made = {name: _pass(torch, model, inputs) for name, (model, inputs, _) in _models(torch).items()}
    made[f"{GENERATED} tokens with a cache"] = _generation(torch)
    return made


def _step(torch: ModuleType, model: Any, inputs: Any, labels: Any) -> Case:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def run() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return run


def _pass(torch: ModuleType, model: Any, inputs: Any) -> Case:
    model.eval()

    def run() -> None:
        with torch.no_grad():
            model(inputs)

    return run


def _bert_step(torch: ModuleType) -> Case:
    functional = torch.nn.functional
    model = cases.tiny_bert(torch, torch.nn, functional)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(0, cases.VOCABULARY, (cases.BATCH, cases.LENGTH))
    labels = torch.randint(0, cases.CLASSES, (cases.BATCH,))

    def run() -> None:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = functional.cross_entropy(model(tokens), labels)
        loss.backward()
        optimizer.step()

    return run


def _by_sample(torch: ModuleType) -> Case:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, 2), nn.ReLU(), nn.Conv2d(8, 16, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(576, 10)
    )
    images, labels = torch.randn(16, 1, 28, 28), torch.randint(0, 10, (16,))
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}

    def loss(parameters: Any, image: Any, label: Any) -> Any:
        found = torch.func.functional_call(model, parameters, (image[None],))
        return nn.functional.cross_entropy(found, label[None])

    gradients = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))
    return lambda: gradients(parameters, images, labels)


def _generation(torch: ModuleType) -> Case:
    nn, width = torch.nn, 128
    words, places, head = nn.Embedding(2000, width), nn.Embedding(KNOWN + GENERATED, width), nn.Linear(width, 2000)
    layers = [_Kinds(torch).Cached(width, 4) for _ in range(2)]
    known = torch.randint(0, 2000, (1, KNOWN))

    def run() -> Any:
        tokens, seen, at = known, [None] * len(layers), 0
        with torch.no_grad():
            for _ in range(GENERATED):
                x = words(tokens) + places(torch.arange(at, at + tokens.shape[1]))
                at += tokens.shape[1]
                for number, layer in enumerate(layers):
                    x, seen[number] = layer(x, seen[number])
                tokens = head(x[:, -1]).argmax(-1, keepdim=True)
        return tokens

    return run
