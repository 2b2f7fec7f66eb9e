"""Programs of two processes with `fully_shard`; each returns what is the same in PyTorch.

They are given ``torch`` and their process group, so that PyTorch runs them on processes, and tests on threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {}


def program(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """List a program."""
    PROGRAMS[function.__name__] = function
    return function


def told(value: Any) -> Any:
    """Tensors by their numbers, and how they are spread."""
    if hasattr(value, "to_local"):
        return [str(value.placements), list(value.shape), told(value.to_local())]
    if hasattr(value, "tolist"):
        return [str(value.dtype), told(value.tolist())]
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        return {str(key): told(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [told(inner) for inner in value]
    return value


def model_of(torch: Any) -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.copy_(torch.arange(parameter.numel()).reshape(parameter.shape) + number)
    return model


def spread(torch: Any, **options: Any) -> Any:
    fsdp = torch.distributed.fsdp
    model = model_of(torch)
    mesh = torch.distributed.init_device_mesh("cpu", (2,))
    fsdp.fully_shard(model[0], mesh=mesh, **options)
    return fsdp.fully_shard(model, mesh=mesh, **options)


def batch(torch: Any, group: Any) -> Any:
    return torch.ones(2, 2) * (group.rank() + 1)


@program
def parameters(torch: Any, group: Any) -> Any:
    model = spread(torch)
    names = [type(model).__name__, type(model[0]).__name__, type(model[2]).__name__]
    before = told(dict(model.named_parameters()))
    model(batch(torch, group))
    after = [[name, type(p).__name__, list(p.shape)] for name, p in model.named_parameters()]
    return names, before, after, told(model.state_dict())


@program
def gradients(torch: Any, group: Any) -> Any:
    model = spread(torch)
    seen = []
    for _ in range(2):
        model(batch(torch, group)).sum().backward()
        seen.append(told([p.grad for p in model.parameters()]))
    return seen


@program
def training(torch: Any, group: Any) -> Any:
    found = []
    for kind, options in (("SGD", {"lr": 0.125, "momentum": 0.5}), ("AdamW", {"lr": 0.125})):
        model = spread(torch)
        optimizer = getattr(torch.optim, kind)(model.parameters(), **options)
        for _ in range(2):
            optimizer.zero_grad()
            model(batch(torch, group)).sum().backward()
            optimizer.step()
        found.append(told([list(model.parameters()), optimizer.state_dict()]))
    return found


@program
def without_synchronization(torch: Any, group: Any) -> Any:
    model = spread(torch)
    model.set_requires_gradient_sync(False)
    model(batch(torch, group)).sum().backward()
    seen = [told([p.grad for p in model.parameters()])]
    model.set_requires_gradient_sync(True)
    model(batch(torch, group)).sum().backward()
    return [*seen, told([p.grad for p in model.parameters()])]


@program
def dtypes(torch: Any, group: Any) -> Any:
    policy = torch.distributed.fsdp.MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model = spread(torch, mp_policy=policy)
    output = model(batch(torch, group))
    output.sum().backward()
    return told(output), told([p.grad for p in model.parameters()]), told(list(model.parameters()))


@program
def clipped(torch: Any, group: Any) -> Any:
    model = spread(torch)
    model(batch(torch, group)).sum().backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    return told(norm.full_tensor()), told([p.grad for p in model.parameters()])
