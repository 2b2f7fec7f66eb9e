"""Modules whose parameters are split over ranks: a transformer equals that of one process, gradients included."""

from __future__ import annotations

import copy
import doctest
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch.distributed.device_mesh import init_device_mesh
from mindtorch.distributed.tensor import DTensor, Partial, Replicate, Shard
from mindtorch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from mindtorch.nn import functional as F
from mt_distributed.testing import run_threads


class Block(nn.Module):
    """Attention and a feed-forward network; the number of heads follows from what the projections give."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.norm2 = nn.LayerNorm(8), nn.LayerNorm(8)
        self.q, self.k, self.v, self.o = (nn.Linear(8, 8) for _ in range(4))
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: Any) -> Any:
        h = self.norm(x)
        q, k, v = (f(h).unflatten(-1, (-1, 2)).transpose(1, 2) for f in (self.q, self.k, self.v))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Net(nn.Module):
    """Tokens to logits."""

    def __init__(self) -> None:
        super().__init__()
        self.emb, self.blocks = nn.Embedding(12, 8), nn.ModuleList([Block()])
        self.norm, self.out = nn.LayerNorm(8), nn.Linear(8, 12)

    def forward(self, tokens: Any) -> Any:
        x = self.emb(tokens)
        for block in self.blocks:
            x = block(x)
        return self.out(self.norm(x))


PLAIN = {
    "emb": lambda: RowwiseParallel(input_layouts=Replicate()),
    **{f"blocks.*.{name}": ColwiseParallel for name in ("q", "k", "v", "up")},
    **{f"blocks.*.{name}": RowwiseParallel for name in ("o", "down")},
    "out": lambda: ColwiseParallel(output_layouts=Replicate()),
}
SEQUENCE = {
    "emb": lambda: RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
    **{f"blocks.*.{name}": lambda: ColwiseParallel(input_layouts=Shard(1)) for name in ("q", "k", "v", "up")},
    **{f"blocks.*.{name}": lambda: RowwiseParallel(output_layouts=Shard(1)) for name in ("o", "down")},
    **dict.fromkeys(("norm", "blocks.*.norm", "blocks.*.norm2"), SequenceParallel),
    "out": lambda: ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
}


@pytest.mark.parametrize("plan", [PLAIN, SEQUENCE], ids=["plain", "sequence"])
def test_transformer(plan: dict[str, Any]) -> None:
    """Loss, and the gradients of all parameters; with `SEQUENCE` the logits stay split for the loss."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(12, (3, 4), generator=generator)
    labels = torch.randint(12, (12,), generator=generator)
    net = Net()
    alone = copy.deepcopy(net)
    wanted = F.cross_entropy(alone(tokens).flatten(0, 1), labels)
    wanted.backward()
    grads = {name: parameter.grad for name, parameter in alone.named_parameters()}

    def run(group: Any) -> tuple[bool, list[str], Any]:
        mesh = init_device_mesh("cpu", (2,))
        spread = parallelize_module(copy.deepcopy(net), mesh, {name: style() for name, style in plan.items()})
        with loss_parallel():
            loss = F.cross_entropy(spread(tokens).flatten(0, 1), labels)
            loss.backward()
        loss = loss.full_tensor() if isinstance(loss, DTensor) else loss
        differ = [
            name
            for name, parameter in spread.named_parameters()
            if not torch.allclose(_whole(parameter.grad), grads[name], atol=1e-5)
        ]
        return torch.allclose(loss, wanted), differ, spread.blocks[0].up.weight.to_local().shape

    assert run_threads(2, run) == [(True, [], (8, 8))] * 2


def _whole(tensor: Any) -> Any:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_loss_of_split_classes(reduction: str) -> None:
    """With weights and labels that do not count; one rank of three has the rest of the classes."""
    logits, weight = torch.randn(5, 7), torch.rand(7)
    labels = torch.tensor([0, 6, -100, 3, 6])
    single = logits.clone().requires_grad_()
    wanted = F.cross_entropy(single, labels, weight, reduction=reduction)
    wanted.sum().backward()

    def run(group: Any) -> bool:
        mesh = init_device_mesh("cpu", (3,))
        x = torch.distributed.tensor.distribute_tensor(logits.clone().requires_grad_(), mesh, [Shard(1)])
        with loss_parallel():
            loss = F.cross_entropy(x, labels, weight, reduction=reduction)
            loss.sum().backward()
        kept = x.grad.placements == (Shard(1),) and loss.placements == (Replicate(),)
        return kept and torch.allclose(loss.to_local(), wanted) and torch.allclose(x.grad.full_tensor(), single.grad)

    assert run_threads(3, run) == [True] * 3


def test_inputs_and_outputs() -> None:
    """What a module is given, by position and by name, and what it gives."""

    class Sum(nn.Module):
        def forward(self, x: Any, other: Any, *, scale: Any = None) -> Any:
            assert x.placements == (Replicate(),) and not isinstance(other, DTensor)
            return x * scale if scale is not None else x

    def run(group: Any) -> Any:
        mesh = init_device_mesh("cpu", (2,))
        x = torch.full((1, 2), group.rank() + 1.0)
        inputs = {"input_layouts": (Shard(0), None), "desired_input_layouts": (Replicate(), None)}
        named = {"input_kwarg_layouts": {"scale": Partial()}, "desired_input_kwarg_layouts": {"scale": Replicate()}}
        first = parallelize_module(Sum(), mesh, PrepareModuleInput(**inputs, **named))(x, x, scale=x)
        outputs = {"output_layouts": Replicate(), "desired_output_layouts": Shard(0)}
        second = parallelize_module(Sum(), mesh, PrepareModuleInputOutput(**inputs, **outputs))(x, x)
        third = parallelize_module(nn.Identity(), mesh, PrepareModuleOutput(**outputs))(torch.arange(2.0))
        return first.to_local().tolist(), second.tolist(), third.tolist()

    doubled = [[3.0, 3.0], [6.0, 6.0]]
    assert run_threads(2, run) == [(doubled, [[1.0, 1.0]], [0.0]), (doubled, [[2.0, 2.0]], [1.0])]


def test_refusals() -> None:
    """PyTorch's types and words."""

    def run(group: Any) -> None:
        mesh = init_device_mesh("cpu", (1, 2))
        line = init_device_mesh("cpu", (2,))
        with pytest.raises(ValueError, match="Found placements length: 1, and device_mesh.ndim: 2"):
            parallelize_module(nn.Linear(2, 2), mesh, ColwiseParallel())
        with pytest.raises(NotImplementedError, match="ColwiseParallel currently only support nn.Linear and nn.Embed"):
            parallelize_module(nn.ReLU(), line, ColwiseParallel())
        with pytest.raises(AssertionError, match="desired module inputs should not be None!"):
            PrepareModuleInput(input_layouts=Shard(0))
        with pytest.raises(TypeError, match="for parallelize_plan"):
            parallelize_module(nn.ReLU(), line, 3)

    run_threads(2, run)


def test_the_page_runs() -> None:
    """``docs/device-mesh.md``."""
    page = Path(__file__).parents[3] / "docs" / "device-mesh.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried > 10
    assert failed == 0
