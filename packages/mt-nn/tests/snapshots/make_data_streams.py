"""Record the orders in which PyTorch draws samples: ``python make_data_streams.py [--check]``.

`data_streams.json` has, by the name of a draw, what each sampler or loader gives after ``torch.manual_seed(5)``, and
one number drawn afterwards, which tells how much of the default stream was used.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils import data

HERE = Path(__file__).parent


class Draws(data.Dataset):
    """What each generator of a worker gives."""

    def __len__(self) -> int:
        return 9

    def __getitem__(self, index: int) -> tuple[float, ...]:
        info = data.get_worker_info()
        return (index, info.id, torch.rand(1).item(), random.random(), np.random.rand())


def loaded(loader: data.DataLoader) -> list[Any]:
    return [
        batch.tolist() if isinstance(batch, torch.Tensor) else [part.tolist() for part in batch] for batch in loader
    ]


def twice(loader: data.DataLoader) -> list[Any]:
    return [loaded(loader), loaded(loader)]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


DRAWS: dict[str, Callable[[], Any]] = {
    "random": lambda: list(data.RandomSampler(range(10))),
    "random, generator": lambda: list(data.RandomSampler(range(10), generator=seeded(1))),
    "random, more than there are": lambda: list(data.RandomSampler(range(3), num_samples=8)),
    "random, replacement": lambda: list(data.RandomSampler(range(5), replacement=True, num_samples=40)),
    "random, large": lambda: list(data.RandomSampler(range(3000)))[:20],
    "subset": lambda: list(data.SubsetRandomSampler([5, 6, 7, 8])),
    "weighted": lambda: list(data.WeightedRandomSampler([0.1, 0.5, 0.4], 10)),
    "weighted, no replacement": lambda: list(data.WeightedRandomSampler([0.1, 0.5, 0.4, 0.2], 3, replacement=False)),
    "distributed": lambda: [list(data.DistributedSampler(range(11), 3, rank, seed=2)) for rank in range(3)],
    "distributed, drop": lambda: [list(data.DistributedSampler(range(11), 3, r, drop_last=True)) for r in range(3)],
    "split": lambda: [list(part.indices) for part in data.random_split(range(10), [3, 7])],
    "split, fractions": lambda: [list(part.indices) for part in data.random_split(range(10), [0.33, 0.33, 0.34])],
    "loader": lambda: twice(data.DataLoader(range(6), 2)),
    "loader, shuffle": lambda: twice(data.DataLoader(range(6), 2, shuffle=True)),
    "loader, generator": lambda: twice(data.DataLoader(range(6), 2, shuffle=True, generator=seeded(1))),
    "loader, workers": lambda: twice(data.DataLoader(Draws(), 2, shuffle=True, num_workers=2)),
    "loader, persistent": lambda: twice(data.DataLoader(Draws(), 2, num_workers=2, persistent_workers=True)),
}


def record() -> dict[str, Any]:
    found = {}
    for name, draw in DRAWS.items():
        torch.manual_seed(5)
        found[name] = [draw(), torch.rand(()).item()]
    return found


if __name__ == "__main__":
    text = json.dumps(record(), separators=(",", ":")).replace('],"', '],\n"') + "\n"
    path = HERE / "data_streams.json"
    if "--check" not in sys.argv:
        path.write_text(text)
    elif path.read_text() != text:
        raise SystemExit(f"data_streams.json differs from what PyTorch {torch.__version__} gives")
