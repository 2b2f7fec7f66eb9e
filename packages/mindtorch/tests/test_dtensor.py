"""Distributed tensors: how they are made, brought from placements to placements, and how gradients come back."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import pytest

import mindtorch as torch
from mindtorch.distributed.device_mesh import init_device_mesh
from mindtorch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_module, distribute_tensor
from mt_distributed.testing import run_threads

PLACEMENTS = (Shard(0), Shard(1), Replicate())


def _every_way(group: Any, shape: tuple[int, int], sizes: tuple[int, ...]) -> None:
    mesh = init_device_mesh("cpu", sizes)
    whole = torch.arange(float(shape[0] * shape[1])).reshape(shape)
    every = list(itertools.product(PLACEMENTS, repeat=len(sizes)))
    parts = {way: distribute_tensor(whole, mesh, way, src_data_rank=None).to_local() for way in every}
    for one in every:
        spread = distribute_tensor(whole if group.rank() == 0 else torch.zeros(shape), mesh, one)
        assert torch.equal(spread.to_local(), parts[one])
        assert spread.shape == whole.shape and spread.stride() == whole.stride()
        for other in every:
            assert torch.equal(spread.redistribute(mesh, other).to_local(), parts[other]), (one, other)
    for other in every:
        for sums in itertools.product((Partial(), Partial("max"), Replicate(), Shard(0)), repeat=len(sizes)):
            once = distribute_tensor(whole, mesh, sums, src_data_rank=None)
            assert torch.allclose(once.redistribute(mesh, other).to_local(), parts[other]), (sums, other)


@pytest.mark.parametrize(("shape", "sizes"), [((5, 7), (2, 2)), ((2, 3), (4,))])
def test_every_redistribution(shape: tuple[int, int], sizes: tuple[int, ...]) -> None:
    """From all placements to all: each rank has what ``torch.chunk`` gives it, also where that is nothing."""
    run_threads(4, _every_way, shape, sizes)


def test_gradients_of_the_ways_in_and_out() -> None:
    """A gradient has the placements of what it belongs to; that of a sum is the same for all that was added."""

    def run(group: Any) -> Any:
        mesh = init_device_mesh("cpu", (2,))
        local = torch.tensor([1.0, 2.0], requires_grad=True)
        DTensor.from_local(local, mesh, [Partial()]).redistribute(placements=[Shard(0)]).to_local().sum().backward()
        first, local.grad = local.grad, None
        spread = DTensor.from_local(local, mesh, [Shard(0)])
        (spread.full_tensor() * torch.arange(4.0)).sum().backward()
        second, local.grad = local.grad, None
        DTensor.from_local(local, mesh, [Replicate()]).to_local(grad_placements=[Partial()]).sum().backward()
        return first.tolist(), second.tolist(), local.grad.tolist()

    assert run_threads(2, run) == [([1.0, 1.0], [0.0, 1.0], [2.0, 2.0]), ([1.0, 1.0], [2.0, 3.0], [2.0, 2.0])]


def test_how_it_prints() -> None:
    """As PyTorch's."""

    def run(group: Any) -> str:
        mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
        return repr(distribute_tensor(torch.arange(3.0), mesh, [Shard(0)]))

    mesh = "device_mesh=DeviceMesh((tp=2), 'cpu', stride=(1,))"
    shown = "DTensor(local_tensor=tensor([{}]), " + mesh + ", placements=(Shard(dim=0),))"
    assert run_threads(2, run) == [shown.format("0., 1."), shown.format("2.")]


def test_modules() -> None:
    """What the function leaves is the same on all ranks; hooks see the mesh."""

    def partition(name: str, module: Any, mesh: Any) -> None:
        if name == "0":
            weight = distribute_tensor(module.weight, mesh, [Shard(0)])
            module.weight = torch.nn.Parameter(weight)

    def run(group: Any) -> Any:
        mesh = init_device_mesh("cpu", (2,))
        wanted = plain(x)
        spread = distribute_module(
            copy.deepcopy(plain), mesh, partition,
            lambda module, inputs, mesh: (DTensor.from_local(inputs[0], mesh, [Replicate()]),),
            lambda module, outputs, mesh: outputs.full_tensor(),
        )  # fmt: skip
        placements = [parameter.placements for parameter in spread.parameters()]
        return placements, torch.allclose(spread(x), wanted)

    plain, x = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2)), torch.randn(5, 4)
    everywhere = (Replicate(),)
    assert run_threads(2, run) == [([(Shard(0),), everywhere, everywhere, everywhere], True)] * 2


def test_refusals() -> None:
    """PyTorch's types and words."""

    def run(group: Any) -> None:
        mesh = init_device_mesh("cpu", (2, 2))
        spread = distribute_tensor(torch.ones(5, 4), mesh, [Shard(0), Replicate()])
        summed = DTensor.from_local(torch.ones(2), mesh, [Partial(), Replicate()])
        cases = [
            (RuntimeError, "Can not redistribute from S\\(0\\) to P\\(sum\\)",
             lambda: spread.redistribute(placements=[Partial(), Replicate()])),
            (ValueError, "Found placements length: 1, and device_mesh.ndim: 2",
             lambda: distribute_tensor(torch.ones(3), mesh, [Shard(0)])),
            (AssertionError, "Sharding dim 4 greater than tensor ndim 1",
             lambda: distribute_tensor(torch.ones(3), mesh, [Shard(4), Replicate()])),
            (ValueError, "do you want to call `redistribute` instead",
             lambda: distribute_tensor(spread, mesh, [Shard(1), Replicate()])),
            (RuntimeError, "only accepts torch.Tensor but got", lambda: DTensor.from_local(spread, mesh)),
            (RuntimeError, "No device mesh is currently active!", lambda: DTensor.from_local(torch.ones(2))),
            (RuntimeError, "aten.add.Tensor got mixed torch.Tensor and DTensor", lambda: spread + torch.ones(5, 4)),
            (NotImplementedError, "Operator aten.nonzero.default does not have a sharding strategy", spread.nonzero),
            (RuntimeError, "in-place operations that require placement changes", lambda: summed.add_(1)),
            (RuntimeError, "placements is needed for redistribute!", spread.redistribute),
        ]  # fmt: skip
        for kind, words, call in cases:
            with pytest.raises(kind, match=words):
                call()

    run_threads(4, run)
