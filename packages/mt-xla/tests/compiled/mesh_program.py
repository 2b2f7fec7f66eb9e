"""A program of eight devices, which `test_mesh.py` runs: each line that it prints is a finding as JSON."""

from __future__ import annotations

import json
import os
import sys
import warnings

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax

import mindtorch as torch
from mindtorch.distributed.device_mesh import init_device_mesh
from mindtorch.distributed.tensor import Partial, Replicate, Shard, distribute_module, distribute_tensor
from mindtorch.nn import functional as F

warnings.simplefilter("ignore")
jax.config.update("jax_enable_compilation_cache", False)
STEPS = 4


class Block(torch.nn.Module):
    """A small transformer: one layer of attention and one of a perceptron, over embedded tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(16, 32)
        self.norm = torch.nn.LayerNorm(32)
        self.qkv = torch.nn.Linear(32, 96)
        self.out = torch.nn.Linear(32, 32)
        self.up = torch.nn.Linear(32, 64)
        self.down = torch.nn.Linear(64, 16)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        parts = self.qkv(self.norm(x)).unflatten(-1, (3, 8, 4)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(*parts.unbind(), is_causal=True).transpose(1, 2).flatten(2))
        return self.down(F.gelu(self.up(x)))


def perceptron() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 16))


def made(kind: str) -> tuple[torch.nn.Module, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    if kind == "perceptron":
        return perceptron(), torch.randn(16, 16), torch.randint(0, 16, (16,))
    return Block(), torch.randint(0, 16, (8, 8)), torch.randint(0, 16, (8, 8))


def replicated(module: torch.nn.Module, mesh: object) -> None:
    distribute_module(module, mesh)


def columns_and_rows(name: str, part: torch.nn.Module, mesh: object) -> None:
    """Tensor parallel: what widens is divided by its outputs, what narrows by its inputs; along the last dimension."""
    if not isinstance(part, torch.nn.Linear):
        return
    others = [Replicate()] * (mesh.ndim - 1)
    widens = part.out_features > part.in_features
    for key, parameter in list(part.named_parameters(recurse=False)):
        dim = (0 if widens else 1) if key == "weight" else (0 if widens else None)
        last = Replicate() if dim is None else Shard(dim)
        part.register_parameter(key, torch.nn.Parameter(distribute_tensor(parameter.data, mesh, [*others, last])))


def fully(name: str, part: torch.nn.Module, mesh: object) -> None:
    """Fully sharded: every parameter is divided along its first dimension."""
    for key, parameter in list(part.named_parameters(recurse=False)):
        part.register_parameter(key, torch.nn.Parameter(distribute_tensor(parameter.data, mesh, [Shard(0)])))


PLANS = {
    "data": ((8,), None, [Shard(0)]), "tensor": ((8,), columns_and_rows, [Replicate()]),
    "fully": ((8,), fully, [Shard(0)]),
    "data and tensor": ((2, 4), columns_and_rows, [Shard(0), Replicate()]),
}  # fmt: skip


def losses(
    kind: str, plan: str | None, compiled: bool = True
) -> tuple[list[float], torch.nn.Module, list[torch.Tensor]]:
    model, x, y = made(kind)
    if plan is not None:
        shape, partition, placed = PLANS[plan]
        mesh = init_device_mesh("xla", shape)
        distribute_module(model.to("xla"), mesh, partition)
        x, y = distribute_tensor(x, mesh, placed), distribute_tensor(y, mesh, placed)
    if kind == "perceptron":
        optimizer: torch.optim.Optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        loss = F.cross_entropy(model(x).flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    run = torch.compile(step, backend="xla") if compiled and plan is not None else step
    found = [run(x, y).item() for _ in range(STEPS)]
    states = [s["exp_avg"] for s in optimizer.state.values()]
    return found, model, states


def spread(tensor: torch.Tensor) -> list[int]:
    """The shape of the part that each device has, and how many devices."""
    buffer = tensor._array.box.buffer
    return [*buffer.addressable_shards[0].data.shape, len(buffer.sharding.device_set)]


def say(name: str, value: object) -> None:
    print(json.dumps([name, value]), flush=True)


def main(kinds: list[str]) -> None:
    for kind in kinds:
        expected = losses(kind, None)[0]
        for plan in PLANS:
            found, model, states = losses(kind, plan)
            say(f"{kind} {plan}", max(abs(a - b) / abs(b) for a, b in zip(found, expected, strict=True)))
            last = list(model.parameters())[-2]
            say(f"{kind} {plan} spread", [spread(tensor) for tensor in (last, *states[-2:-1])])
    mesh = init_device_mesh("xla", (8,))
    say("no groups", torch.distributed.is_initialized())
    x = distribute_tensor(torch.arange(64.0).reshape(8, 8), mesh, [Shard(1)])
    say("eager", [torch.equal((x @ x + x[1]).cpu(), x.cpu() @ x.cpu() + x.cpu()[1]), spread(x)])
    x[:, 2] = 0
    x.add_(1)
    say("written", [x.cpu()[:, 2].sum().item(), spread(x)])
    for name, call in {
        "partial": lambda: distribute_tensor(torch.ones(8), mesh, [Partial()]),
        "uneven": lambda: distribute_tensor(torch.ones(9), mesh, [Shard(0)]),
        "too many": lambda: distribute_tensor(torch.ones(9), init_device_mesh("xla", (9,)), [Shard(0)]),
        "two devices": lambda: torch.ones(2, device="xla:1") + torch.ones(2, device="xla:2"),
    }.items():
        try:
            say(name, str(call()))
        except (NotImplementedError, RuntimeError) as error:
            say(name, f"{type(error).__name__}: {error}")
    y = torch.arange(3.0, device="xla:5")
    z = (y * 2).add_(1)
    z[1] = 7
    say(
        "one of eight",
        [str(z.device), z.tolist(), str(z.to("xla:2").device), str(torch.randn(2, device="xla:3").device)],
    )
    torch.xla.set_device(4)
    say("current", [str(t.device) for t in (torch.ones(2, device="xla"), torch.arange(2, device="xla"))])
    compiled = torch.compile(lambda t: t.sin() + 1, backend="xla", fullgraph=True)
    say("compiled on one", [str(compiled(y).device), torch.allclose(compiled(y).cpu(), y.cpu().sin() + 1)])


if __name__ == "__main__":
    main(sys.argv[1:])
