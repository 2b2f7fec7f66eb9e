"""Distributed tensors on several processes: redistributions and a network split over ranks equal one process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROGRAM = """
import itertools
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, loss_parallel, parallelize_module

rank, size = begin()
shape = (2, 2) if size == 4 else (size,)
mesh = init_device_mesh("cpu", shape, mesh_dim_names=("a", "b")[: len(shape)])
whole = torch.arange(35.0).reshape(5, 7)
ways = list(itertools.product((Shard(0), Shard(1), Replicate()), repeat=len(shape)))
for one in ways:
    spread = distribute_tensor(whole.clone().requires_grad_(), mesh, one)
    assert torch.equal(spread.full_tensor(), whole)
    for other in ways:
        moved = spread.redistribute(mesh, other)
        wanted = distribute_tensor(whole, mesh, other, src_data_rank=None)
        assert torch.equal(moved.to_local(), wanted.to_local()), (one, other)
    (spread * 2).sum().full_tensor().backward()
    assert torch.equal(spread.grad.full_tensor(), torch.full((5, 7), 2.0))
for other in ways:
    part = DTensor.from_local(torch.full((5, 7), rank + 1.0), mesh, [Partial("max")] * len(shape))
    assert torch.equal(part.redistribute(mesh, other).full_tensor(), torch.full((5, 7), float(size)))
    flags = distribute_tensor(whole > 3, mesh, other)
    assert flags.any().full_tensor().item() and not flags.all().full_tensor().item()

torch.manual_seed(0)
line = mesh if len(shape) == 1 else mesh._flatten("all")
def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 12), nn.GELU(), nn.Linear(12, 8), nn.Linear(8, 10))
tokens, labels = torch.randint(11, (6,)), torch.randint(10, (6,))
alone = network()
nn.functional.cross_entropy(alone(tokens), labels).backward()
split = parallelize_module(network(), line, {
    "0": RowwiseParallel(input_layouts=Replicate()), "1": ColwiseParallel(), "3": RowwiseParallel(),
    "4": ColwiseParallel(use_local_output=False),
})
with loss_parallel():
    nn.functional.cross_entropy(split(tokens), labels).backward()
for one, other in zip(split.parameters(), alone.parameters()):
    assert torch.allclose(one.grad.full_tensor(), other.grad, atol=1e-6)
dist.destroy_process_group()
print("done")
"""


def test_ways_and_networks(run: Any, size: int) -> None:
    """Every way between placements, and the gradients of a network."""
    assert all(said.strip().endswith("done") for said in run(PROGRAM, size))


def test_placements_are_those_of_pytorch(run: Any) -> None:
    """What results are placed like, and what a rank has of them (``snapshots/make_placements.py``)."""
    folder = Path(__file__).parent / "snapshots"
    recorded = json.loads((folder / "placements.json").read_text())
    program = (folder / "placement_programs.py").read_text() + '\nbegin()\nprint("answers", answers())\n'
    for rank, said in enumerate(run(program, 2)):
        line = next(line for line in said.splitlines() if line.startswith("answers"))
        assert json.loads(line.removeprefix("answers")) == recorded[rank]
