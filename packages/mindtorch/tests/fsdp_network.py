"""A network for `FullyShardedDataParallel`, and how it is trained."""

from __future__ import annotations

from typing import Any

import mindtorch as torch
from mindtorch import nn
from mindtorch.distributed.fsdp import FullyShardedDataParallel as FSDP
from mindtorch.utils.checkpoint import checkpoint as checkpointed


class Network(nn.Module):
    """Tied parameters, a layer that runs twice, one that keeps its parameters in a list, one that is recomputed."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 6)
        self.twice = nn.Linear(6, 6)
        self.recurrent = nn.GRU(6, 6, batch_first=True)
        self.block = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 6))
        self.last = nn.Linear(6, 7, bias=False)
        self.last.weight = self.embedding.weight
        self.unused = nn.Parameter(torch.ones(3))

    def forward(self, tokens: Any) -> Any:
        x = self.twice(torch.tanh(self.twice(self.embedding(tokens))))
        x = self.recurrent(x)[0]
        return self.last(checkpointed(self.block, x, use_reentrant=False))


torch.manual_seed(0)
NETWORK = Network()
TOKENS = torch.randint(0, 7, (12, 4))


def train(model: Any, optimizer: Any, tokens: Any, pieces: int = 1) -> list[float]:
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        total = 0.0
        for number, part in enumerate(tokens.chunk(pieces)):
            waits = model.no_sync() if isinstance(model, FSDP) and number < pieces - 1 else torch.enable_grad()
            with waits:
                loss = nn.functional.cross_entropy(model(part[:, :-1]).flatten(0, 1), part[:, 1:].flatten()) / pieces
                loss.backward()
            total += loss.item()
        norm = model.clip_grad_norm_(0.05) if isinstance(model, FSDP) else clipped(model)
        optimizer.step()
        with torch.no_grad():  # whole parameters that a forward leaves behind are not those of the next step
            model(tokens)
        losses.append([total, norm.item()])
    return losses


def clipped(model: Any) -> Any:
    return nn.utils.clip_grad_norm_(model.parameters(), 0.05)
