"""Training inside of a pipeline: the weights of eager training, bit for bit, and two flushes in a step."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch.nn import functional as F


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.lstm = nn.LSTM(6, 8, num_layers=2, batch_first=True)
        self.head = nn.Linear(8, 20)

    def forward(self, tokens: Any) -> Any:
        hidden, _ = self.lstm(self.embedding(tokens))
        return self.head(hidden[:, -1])


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Dropout(0.3), nn.LayerNorm(16), nn.Linear(16, 4))


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(64, 4),
    )  # fmt: skip


def transformer() -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
    return nn.Sequential(layer, nn.Flatten(), nn.Linear(40, 4))


def numbers(*shape: int) -> Callable[[], Any]:
    return lambda: torch.randn(*shape)


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Any], int]] = {
    "mlp": (mlp, numbers(5, 6), 4),
    "cnn": (cnn, numbers(5, 3, 8, 8), 4),
    "transformer": (transformer, numbers(5, 5, 8), 4),
    "lstm": (Recurrent, lambda: torch.randint(0, 20, (5, 7)), 20),
}
OPTIMIZERS = {
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-2),
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True),
}


def trained(name: str, optimizer_name: str, pipelined: bool, steps: int = 3) -> tuple[list[Any], list[int], list[Any]]:
    """(parameters and buffers, flushes in each step, state of the random stream) after some steps."""
    make, inputs, classes = MODELS[name]
    torch.manual_seed(0)
    model = make()
    optimizer = OPTIMIZERS[optimizer_name](model.parameters())
    flushes = []
    for _ in range(steps):
        x, target = inputs(), torch.randint(0, classes, (5,))
        with torch.pipeline() if pipelined else contextlib.nullcontext() as pipeline:
            loss = F.cross_entropy(model(x), target)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if pipelined:
                assert pipeline.flushes == 1
        flushes.append(pipeline.flushes if pipelined else 0)
    return [t.tolist() for t in model.state_dict().values()], flushes, torch.get_rng_state().tolist()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", MODELS)
def test_training_gives_the_weights_of_eager_training_in_two_flushes_a_step(model: str, optimizer: str) -> None:
    weights, flushes, state = trained(model, optimizer, pipelined=True)
    expected, _, expected_state = trained(model, optimizer, pipelined=False)
    assert weights == expected
    assert state == expected_state
    assert flushes == [2, 2, 2]
