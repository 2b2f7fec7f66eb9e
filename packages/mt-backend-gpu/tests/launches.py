"""What a training step launches, copies and waits for on the stand-in, and the budgets that hold it.

The stand-in counts calls of CuPy's functions by name. How many kernels a call launches at most is what CuPy's source
says (`_core/_cub_reduction.pyx`, `_core/_routines_linalg.pyx`): `LAUNCHES`; one that is not listed counts as `UNKNOWN`.
Kernels of mindtorch's own count as one each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import fake_cupy

import mindtorch as torch

__all__ = ["BUDGETS", "LAUNCHES", "UNKNOWN", "Found", "of_step"]

F = torch.nn.functional
UNKNOWN = 5
_ELEMENTWISE = (
    "add sub subtract mul multiply truediv true_divide divide neg negative pos abs absolute sqrt exp log tanh maximum "
    "minimum where reciprocal sign greater less greater_equal less_equal equal not_equal gt lt ge le eq ne "
    "and or xor invert "
    "logical_and logical_or logical_not square power"
).split()
#: Function -> kernels of a call: one for elementwise functions, fills and copies; two for a reduction, whose parts are
#: joined by another; a product of stacks copies both operands where they do not lie row by row.
LAUNCHES: dict[str, int] = {
    **{f"{side}{name}": 1 for name in _ELEMENTWISE for side in ("", "r", "i")},
    "setitem": 1, "astype": 1, "copy": 1, "fill": 1, "gemm": 1, "matmul": 1, "matmul of stacks": 3,
    **dict.fromkeys(("sum", "add.reduce", "max", "min", "any", "all", "mean"), 2),
}  # fmt: skip


class Found(NamedTuple):
    """What a step did; `calls` are the functions of CuPy's and their counts, `own` kernels of mindtorch's own."""

    launches: int
    waits: int
    copies: int
    own: int
    calls: dict[str, int]


def of_step(step: Callable[[], Any], machines: list[Any], warm: int = 2) -> Found:
    """What a step does after so many others, which compile kernels and make the optimizer's state."""
    for _ in range(warm):
        step()
    fake_cupy.COUNTS.clear()
    for machine in machines:
        machine.launches.clear()
    step()
    counts = fake_cupy.COUNTS
    calls = {name.removeprefix("launch of "): n for name, n in counts.items() if name.startswith("launch of ")}
    own = sum(len(machine.launches) for machine in machines)
    launches = own + sum(LAUNCHES.get(name, UNKNOWN) * n for name, n in calls.items())
    return Found(launches, counts["sync"], counts["h2d"] + counts["d2h"], own, calls)


def trained(net: Any, loss: Callable[[], Any]) -> Callable[[], Any]:
    """A step of training with SGD."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


def transformer_block() -> Callable[[], Any]:
    """A layer of an encoder, 64 wide, four heads."""
    block = torch.nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True).cuda()
    x = torch.randn(4, 32, 64).cuda()
    return trained(block, lambda: (block(x) ** 2).mean())


class Residual(torch.nn.Module):
    """A block of ResNet-18, with a classifier behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = (torch.nn.Conv2d(4, 4, 3, padding=1, bias=False) for _ in range(2))
        self.one, self.two = torch.nn.BatchNorm2d(4), torch.nn.BatchNorm2d(4)
        self.classes = torch.nn.Linear(4, 5)

    def forward(self, x: Any) -> Any:
        y = self.two(self.second(F.relu(self.one(self.first(x)))))
        return self.classes(F.relu(x + y).mean((2, 3)))


def residual_block() -> Callable[[], Any]:
    """Convolutions, batch_norm and cross entropy."""
    net, x, y = Residual().cuda(), torch.randn(2, 4, 6, 6).cuda(), torch.tensor([1, 4]).cuda()
    return trained(net, lambda: F.cross_entropy(net(x), y))


def lstm_cell() -> Callable[[], Any]:
    """One step of an LSTM cell."""
    cell, x = torch.nn.LSTMCell(8, 16).cuda(), torch.randn(4, 8).cuda()
    return trained(cell, lambda: cell(x)[0].square().mean())


#: Step -> the most launches, and how it is made.
BUDGETS: dict[str, tuple[int, Callable[[], Callable[[], Any]]]] = {
    "transformer block": (79, transformer_block), "ResNet block": (121, residual_block), "LSTM cell": (45, lstm_cell),
}  # fmt: skip
