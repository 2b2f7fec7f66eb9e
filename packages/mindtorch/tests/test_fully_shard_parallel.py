"""`fully_shard` of what tensor parallelism has spread, among threads, against PyTorch's on processes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
import mindtorch.distributed.fsdp
import mindtorch.distributed.tensor.parallel  # what programs reach by `torch.distributed`
from mindtorch import nn
from mindtorch.distributed import init_device_mesh
from mindtorch.distributed.fsdp import fully_shard
from mindtorch.distributed.tensor import Replicate, Shard, distribute_tensor
from mindtorch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
from mindtorch.distributed.tensor.placement_types import _StridedShard
from mt_distributed.testing import run_threads

SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(SNAPSHOTS))

from fully_shard_parallel_programs import PROGRAMS  # noqa: E402 - lies beside the script that runs it with PyTorch

SNAPSHOT = json.loads((SNAPSHOTS / "fully_shard_parallel.json").read_text())


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_pytorch(name: str) -> None:
    results = run_threads(4, lambda group: PROGRAMS[name](torch, group))
    assert json.loads(json.dumps(results)) == SNAPSHOT[name]


def test_meshes_that_are_no_parts_of_one_are_refused() -> None:
    def run(group: Any) -> None:
        mesh = init_device_mesh("cpu", (1, 2), mesh_dim_names=("dp", "tp"))
        model = parallelize_module(nn.Sequential(nn.Linear(3, 4)), mesh["tp"], {"0": ColwiseParallel()})
        with pytest.raises(ValueError, match="have the same parent mesh"):
            fully_shard(model, mesh=init_device_mesh("cpu", (2,)))

    run_threads(2, run)


def test_strided_placements_hold_the_parts_that_a_later_split_left() -> None:
    """The second dimension of the mesh splits first; sizes that cannot be divided."""
    whole = torch.arange(10.0).reshape(5, 2)

    def run(group: Any) -> Any:
        mesh = init_device_mesh("cpu", (2, 2))
        way = [_StridedShard(0, split_factor=2), Shard(0)]
        x = distribute_tensor(whole, mesh, way)
        assert torch.equal(x.full_tensor(), whole)
        assert (x * 2 + x).placements == tuple(way)
        assert torch.equal(x.norm().full_tensor(), whole.norm())
        for other in ([Shard(0), Shard(0)], [Shard(1), Shard(0)], [Replicate(), Shard(0)], [Shard(0), Replicate()]):
            wanted = distribute_tensor(whole, mesh, other, src_data_rank=None)
            assert torch.equal(x.redistribute(mesh, other).to_local(), wanted.to_local())
            assert torch.equal(wanted.redistribute(mesh, way).to_local(), x.to_local())
        with pytest.raises(NotImplementedError, match="a _StridedShard is supported by mindtorch where"):
            distribute_tensor(whole, mesh, [_StridedShard(0, split_factor=3), Shard(0)])
        return x.to_local()[:, 0].tolist()

    assert run_threads(4, run) == [[0, 2], [6], [4], [8]]
