"""One rank of the benchmark of `torch.distributed`: ``python -m tools.bench.distributed_ranks torch 2``.

The rank comes from the environment, as `torchrun` says it. The first rank prints seconds as JSON.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

SIZES = (4, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20)


def named(size: int) -> str:
    """A number of bytes as people say it."""
    for unit, name in ((1 << 20, "MB"), (1 << 10, "KB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def fastest(call: Callable[[], Any], meet: Callable[[], Any], calls: int, repeats: int) -> float:
    """Seconds per call: the fastest of some batches, each of which all ranks begin together."""
    found = float("inf")
    for _ in range(repeats):
        meet()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        found = min(found, (time.perf_counter() - start) / calls)
    return found


def collectives(torch: Any, dist: Any, processes: int, effort: int) -> dict[str, float]:
    """Seconds of all-reduces by size, and of a barrier."""
    found = {}
    for size in SIZES:
        tensor = torch.ones(max(size // 4, 1))
        calls = max(1, min(300, (8 << 20) // size))
        for _ in range(3):
            dist.all_reduce(tensor)
        found[f"all_reduce on {processes}/{named(size)}"] = fastest(
            lambda tensor=tensor: dist.all_reduce(tensor), dist.barrier, calls, 2 * effort
        )
    found[f"all_reduce on {processes}/barrier"] = fastest(dist.barrier, dist.barrier, 100, effort)
    return found


def training(torch: Any, dist: Any, processes: int, effort: int) -> dict[str, float]:
    """Seconds of a training step: alone on each process, in `DistributedDataParallel`, and what the second adds."""
    nn = torch.nn
    x, y = torch.randn(64, 256), torch.randn(64, 64)
    layers = [layer for _ in range(4) for layer in (nn.Linear(256, 256), nn.Tanh())]
    model = nn.Sequential(*layers, nn.Linear(256, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(trained: Any) -> None:
        optimizer.zero_grad()
        nn.functional.mse_loss(trained(x), y).backward()
        optimizer.step()

    parallel = nn.parallel.DistributedDataParallel(model)
    for trained in (model, parallel, parallel):
        step(trained)
    alone, shared = [], []
    for _ in range(2 * effort):
        alone.append(fastest(lambda: step(model), dist.barrier, 5, 1))
        shared.append(fastest(lambda: step(parallel), dist.barrier, 5, 1))
    group = f"training on {processes}"
    return {
        f"{group}/step without DDP": min(alone),
        f"{group}/step with DDP": min(shared),
        f"{group}/what DDP adds": max(min(shared) - min(alone), 1e-9),
    }


def main() -> None:
    """Measure as one rank."""
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("--effort", type=int, default=5)
    options = parser.parse_args()
    torch = importlib.import_module(options.module)
    dist = importlib.import_module(f"{options.module}.distributed")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    processes = dist.get_world_size()
    found = collectives(torch, dist, processes, options.effort)
    found.update(training(torch, dist, processes, options.effort))
    if dist.get_rank() == 0:
        json.dump(found, sys.stdout)
        sys.stdout.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
