"""Modules that are exported and saved, here and by PyTorch; `torch` is whichever it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Name -> function of ``torch`` to (module, arguments, named arguments).
PROGRAMS: dict[str, Callable[[Any], tuple[Any, tuple[Any, ...], dict[str, Any]]]] = {}


def _program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS[function.__name__] = function
    return function


def _ramp(torch: Any, *shape: int) -> Any:
    total = 1
    for size in shape:
        total *= size
    return (torch.arange(float(total)).reshape(shape) * 0.7).sin()


def _filled(module: Any, torch: Any) -> Any:
    """The module with parameters that no random stream decides."""
    for tensor in [*module.parameters(), *module.buffers()]:
        if tensor.is_floating_point():
            values = torch.arange(float(tensor.numel())).reshape(tensor.shape)
            tensor.data.copy_((values * 0.37 + 0.1).sin().abs() + 0.1)
    return module


def _module(torch: Any, function: Callable[..., Any]) -> Any:
    class Net(torch.nn.Module):
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

    return Net()


@_program
def convolutions(torch: Any) -> Any:
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(12, 3), nn.LogSoftmax(1),
    )  # fmt: skip
    return _filled(net, torch).eval(), (_ramp(torch, 2, 2, 4, 4),), {}


@_program
def encoder_layer(torch: Any) -> Any:
    net = torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    return _filled(net, torch), (_ramp(torch, 2, 3, 4),), {}


@_program
def recurrent(torch: Any) -> Any:
    return _filled(torch.nn.LSTM(2, 3), torch), (_ramp(torch, 4, 1, 2),), {}


@_program
def held_tensors(torch: Any) -> Any:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))
            self.register_buffer("scale", torch.ones(2), persistent=False)
            self.constant = torch.ones(2) * 3
            base = torch.arange(12.0).reshape(3, 4)
            self.weight = torch.nn.Parameter(base)
            self.window = torch.nn.Parameter(base.t()[1:], requires_grad=False)
            self.tied = self.weight
            self.register_buffer("wide", torch.ones(3, 1).expand(3, 5))
            self.register_buffer("empty", torch.empty(0, 3))

        def forward(self, x: Any) -> Any:
            self.calls.add_(1)
            self.scale.mul_(2)
            made = torch.tensor([1.0, 2.0]) + x
            first = x * self.scale + self.constant + self.calls, made, self.weight.sum() + self.tied.sum()
            return *first, self.window * 2, self.wide.sum(0), self.empty

    return Net(), (_ramp(torch, 2),), {}


@_program
def element_types(torch: Any) -> Any:
    names = "uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128 bool bfloat16".split()

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name in names:
                self.register_buffer(f"of_{name}", torch.tensor([1, 0, 3]).to(getattr(torch, name)))

        def forward(self, x: Any) -> Any:
            casts = [x.to(torch.float16), x.double(), x.to(torch.int64), x.type_as(self.of_bfloat16)]
            return [buffer * x for buffer in self.buffers()], casts

    return Net(), (_ramp(torch, 3),), {}


@_program
def nested_values(torch: Any) -> Any:
    def run(x: Any, *, d: Any, n: Any = None, flag: bool = True, f: float = 1.5, s: str = "a") -> Any:
        return {"a": x * d["q"][0], "b": (None, 3, [x + d["q"][1] * f], True, 2.5), "c": n}

    table = {"q": [_ramp(torch, 3), 2]}
    return _module(torch, run), (_ramp(torch, 3),), {"d": table, "n": None, "flag": False, "f": 2.5, "s": "z"}


@_program
def lists_and_numbers(torch: Any) -> Any:
    def run(x: Any, y: Any, index: Any) -> Any:
        parts = torch.cat([x, y], 1), torch.split(x, 1), torch.chunk(y, 2, 1)[1], torch.stack([x, y])
        grid = torch.meshgrid(x[0], y[1], indexing="ij")
        numbers = x * 2.5, x * (1 + 2j), x + float("inf"), torch.full((2,), True), torch.arange(3), x.clamp(max=0.3)
        taken = x[:, None, index], x[1:], x.max(1)[0], torch.where(x > 0, x, 0.0), x.sum(0, keepdim=True)
        formats = x[None, None].contiguous(memory_format=torch.channels_last), torch.einsum("ij,kj->ik", x, y)
        return parts, grid, numbers, taken, formats, (x > 0) & (y > 0)

    return _module(torch, run), (_ramp(torch, 2, 4), _ramp(torch, 2, 4) + 1, torch.tensor([1, 0])), {}


@_program
def writes(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = x * 2
        y.add_(1)
        y[0].mul_(2)
        y[:, 1] = 5
        z = torch.zeros(3)
        z[1:] = x[0, :2]
        return x.relu_(), y, z

    return _module(torch, run), (_ramp(torch, 2, 3),), {}
