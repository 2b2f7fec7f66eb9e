"""What is measured. Everything is written for a module that looks like ``torch``, whichever it is."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

__all__ = ["LAYERS", "Case", "chain", "operators", "tiny_bert", "training_step"]

Case = Callable[[], Any]

#: Length of the chain of operators that is differentiated.
CHAIN = 100
#: The sizes of the model that is trained: those of the smallest published BERT.
VOCABULARY, WIDTH, HEADS, LAYERS, INNER = 30522, 128, 2, 2, 512
BATCH, LENGTH, CLASSES = 8, 64, 10


def operators(torch: ModuleType, functional: ModuleType, size: int, grad: bool) -> dict[str, Case]:
    """Calls of single operators on square matrices.

    Parameters
    ----------
    size
        Rows and columns.
    grad
        Whether the floating-point arguments require grad.
    """
    torch.manual_seed(0)
    a, b = torch.randn(size, size), torch.randn(size, size)
    weight, bias = torch.ones(size), torch.zeros(size)
    mask, rows, classes = a > 0, torch.tensor([0, 1, 2]), torch.tensor([1] * size)
    if grad:
        for tensor in (a, b, weight, bias):
            tensor.requires_grad_()
    return {
        "add": lambda: a + b,
        "mul": lambda: a * b,
        "add_scalar": lambda: a + 1.0,
        "div": lambda: a / b,
        "exp": lambda: torch.exp(a),
        "tanh": lambda: torch.tanh(a),
        "relu": lambda: torch.relu(a),
        "gelu": lambda: functional.gelu(a),
        "silu": lambda: functional.silu(a),
        "sum": lambda: a.sum(),
        "mean": lambda: a.mean(-1),
        "amax": lambda: a.amax(-1),
        "softmax": lambda: torch.softmax(a, -1),
        "log_softmax": lambda: torch.log_softmax(a, -1),
        "layer_norm": lambda: functional.layer_norm(a, (size,), weight, bias),
        "matmul": lambda: a @ b,
        "linear": lambda: functional.linear(a, b, bias),
        "transpose": lambda: a.transpose(0, 1),
        "view": lambda: a.view(-1),
        "reshape": lambda: a.reshape(size * size),
        "getitem": lambda: a[1],
        "slice": lambda: a[1:3],
        "index_select": lambda: a.index_select(0, rows),
        "cat": lambda: torch.cat([a, b]),
        "stack": lambda: torch.stack([a, b]),
        "where": lambda: torch.where(mask, a, b),
        "masked_fill": lambda: a.masked_fill(mask, 0.0),
        "cross_entropy": lambda: functional.cross_entropy(a, classes),
        "clone": lambda: a.clone(),
        "unsqueeze": lambda: a.unsqueeze(0),
    }


def chain(torch: ModuleType) -> tuple[Case, Callable[[Any], None]]:
    """A chain of operators: (builds it and returns its end, differentiates it)."""
    start = torch.ones(4, 4).requires_grad_()

    def forward() -> Any:
        y = start
        for _ in range(CHAIN // 2):
            y = torch.tanh(y * 1.1)
        return y.sum()

    def backward(end: Any) -> None:
        start.grad = None
        end.backward()

    return forward, backward


def training_step(torch: ModuleType, nn: ModuleType, functional: ModuleType) -> Case:
    """One step of training a tiny BERT with a classification head: forward, backward, clipping, AdamW."""
    torch.manual_seed(0)
    model = tiny_bert(torch, nn, functional)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
    labels = torch.randint(0, CLASSES, (BATCH,))

    def step() -> float:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(tokens), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return step


def tiny_bert(torch: ModuleType, nn: ModuleType, functional: ModuleType) -> Any:
    """A BERT encoder of two layers with a classification head."""

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value, self.output = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
            self.inner, self.outer = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
            self.attention_norm, self.output_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.dropout = nn.Dropout(0.1)

        def heads(self, x: Any) -> Any:
            return x.view(BATCH, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)

        def forward(self, x: Any) -> Any:
            projected = (self.heads(project(x)) for project in (self.query, self.key, self.value))
            attended = functional.scaled_dot_product_attention(*projected)
            attended = attended.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH)
            x = self.attention_norm(x + self.dropout(self.output(attended)))
            return self.output_norm(x + self.dropout(self.outer(functional.gelu(self.inner(x)))))

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.norm, self.dropout = nn.LayerNorm(WIDTH), nn.Dropout(0.1)
            self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
            self.head = nn.Linear(WIDTH, CLASSES)

        def forward(self, tokens: Any) -> Any:
            x = self.words(tokens) + self.positions(torch.arange(LENGTH))
            x = self.dropout(self.norm(x))
            for layer in self.layers:
                x = layer(x)
            return self.head(torch.tanh(x[:, 0]))

    return Encoder()
