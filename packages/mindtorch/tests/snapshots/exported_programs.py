"""Modules that are exported, here and by PyTorch; `torch` is whichever it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Name -> function of ``torch`` to (module, arguments, named arguments).
PROGRAMS: dict[str, Callable[[Any], tuple[Any, tuple[Any, ...], dict[str, Any]]]] = {}


def _program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS[function.__name__] = function
    return function


def _filled(module: Any, torch: Any) -> Any:
    """The module with parameters that no random stream decides."""
    for tensor in [*module.parameters(), *module.buffers()]:
        if tensor.is_floating_point():
            values = torch.arange(float(tensor.numel())).reshape(tensor.shape)
            tensor.data.copy_((values * 0.37 + 0.1).sin() if tensor.dim() > 1 else values * 0.05 + 0.5)
    return module


def _ramp(torch: Any, *shape: int) -> Any:
    total = 1
    for size in shape:
        total *= size
    return (torch.arange(float(total)).reshape(shape) * 0.7).sin()


@_program
def buffers_and_constants(torch: Any) -> Any:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, 4)
            self.norm = torch.nn.BatchNorm1d(4)
            self.register_buffer("shift", torch.ones(4))
            self.register_buffer("count", torch.zeros(1), persistent=False)
            self.constant = torch.ones(4)

        def forward(self, x: Any, y: Any = None, *, flag: bool = True) -> Any:
            h = torch.relu(self.norm(self.linear(x))) + self.shift + self.constant
            self.count.add_(1)
            if flag:
                h = h * 2
            return {"a": h, "b": (h.sum(0), x, 3)}

    return _filled(Net(), torch), (_ramp(torch, 2, 3),), {"flag": True}


@_program
def nested_arguments(torch: Any) -> Any:
    class Net(torch.nn.Module):
        def forward(self, x: Any, table: Any, parts: Any, *rest: Any, flag: Any = None) -> Any:
            y = x * parts[1] + table["k"] @ parts[0] + rest[0] * rest[1]
            return y, None, "text", [y[0], parts[0]]

    x, k, part, rest = (_ramp(torch, 3, 3) + i for i in range(4))
    return Net(), (x, {"k": k}, [part, 2], rest, 4.5), {"flag": None}


@_program
def shared_parameters(torch: Any) -> Any:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Linear(3, 3)
            self.second = self.first

        def forward(self, x: Any) -> Any:
            return self.second(self.first(x))

    return _filled(Net(), torch), (_ramp(torch, 2, 3),), {}


@_program
def writes_and_views(torch: Any) -> Any:
    class Net(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            y = x * 2
            y.add_(1)
            z = y[0]
            z.mul_(2)
            values, indices = y.max(1)
            first, second = y.split([1, 1])
            return y, z, values, indices, first.t(), second.reshape(-1).softmax(0)

    return Net(), (_ramp(torch, 2, 3),), {}


@_program
def convolutions(torch: Any) -> Any:
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(16, 3), nn.LogSoftmax(1),
    )  # fmt: skip
    return _filled(net, torch).eval(), (_ramp(torch, 2, 2, 4, 4),), {}


@_program
def attention(torch: Any) -> Any:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = torch.nn.Embedding(7, 8)
            self.project = torch.nn.Linear(8, 24)

        def forward(self, tokens: Any) -> Any:
            x = self.embed(tokens)
            q, k, v = self.project(x).view(2, 3, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
            mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return torch.nn.functional.gelu(mixed.transpose(1, 2).reshape(2, 3, 8))

    return _filled(Net(), torch), (torch.arange(6).reshape(2, 3),), {}


@_program
def loops_and_shapes(torch: Any) -> Any:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(2)])

        def forward(self, x: Any, scale: int) -> Any:
            for i, layer in enumerate(self.layers):
                x = torch.tanh(layer(x)) / x.shape[0] + i * scale
            return torch.cat([x, x[0:1]], dim=0), torch.stack([x, x]).mean((0, 1))

    return _filled(Net(), torch), (_ramp(torch, 2, 3), 3), {}


@_program
def without_gradients(torch: Any) -> Any:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x: Any) -> Any:
            return torch.where(x > 0, x, -x).clamp(max=0.5) * self.weight - (x != 0).sum(-1, keepdim=True)

    return _filled(Net(), torch), (_ramp(torch, 2, 3),), {}
