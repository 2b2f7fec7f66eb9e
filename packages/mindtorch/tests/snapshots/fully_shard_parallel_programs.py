"""Programs of four processes with `fully_shard` on what tensor parallelism has spread already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fully_shard_programs import told

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {}


def program(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """List a program."""
    PROGRAMS[function.__name__] = function
    return function


def trained(torch: Any, shape: tuple[int, ...], names: tuple[str, ...]) -> Any:
    """Where parameters and gradients lie, and their values."""
    parallel, fsdp = torch.distributed.tensor.parallel, torch.distributed.fsdp
    mesh = torch.distributed.init_device_mesh("cpu", shape, mesh_dim_names=names)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_((torch.arange(parameter.numel()).reshape(parameter.shape) % 5 - 2.0) / 4)
    plan = {"0": parallel.ColwiseParallel(), "2": parallel.RowwiseParallel()}
    model = parallel.parallelize_module(model, mesh["tp"], plan)
    data = mesh["dp"] if len(names) == 2 else mesh["replicas", "dp"]
    fsdp.fully_shard(model[0], mesh=data)
    fsdp.fully_shard(model, mesh=data)
    before = told(dict(model.named_parameters()))
    x = (torch.arange(6.0).reshape(2, 3) + torch.distributed.get_rank(data["dp"].get_group())) / 4
    model(x).square().sum().backward()
    grads = told({name: parameter.grad for name, parameter in model.named_parameters()})
    optimizer = torch.optim.SGD(model.parameters(), 0.5, momentum=0.5)
    optimizer.step()
    whole = {name: parameter.full_tensor() for name, parameter in model.state_dict().items()}
    return [before, grads, told(whole)]


@program
def two_by_two(torch: Any, group: Any) -> Any:
    return trained(torch, (2, 2), ("dp", "tp"))


@program
def one_model_of_each(torch: Any, group: Any) -> Any:
    return trained(torch, (4, 1), ("dp", "tp"))


@program
def one_part_of_the_data(torch: Any, group: Any) -> Any:
    return trained(torch, (1, 4), ("dp", "tp"))


@program
def replicas(torch: Any, group: Any) -> Any:
    return trained(torch, (1, 2, 2), ("replicas", "dp", "tp"))
