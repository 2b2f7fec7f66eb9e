"""Programs of two processes with states of models and optimizers; each returns what is the same in PyTorch.

They are given ``torch``, their process group, and whether tensors can be spread over a mesh.
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
    """A state in words: tensors by their numbers, to four digits."""
    if hasattr(value, "tolist"):
        return [str(value.dtype), told(value.tolist())]
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {str(key): told(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [told(inner) for inner in value]
    return value


def refused(function: Callable[[], Any]) -> Any:
    try:
        return told(function())
    except (RuntimeError, ValueError, KeyError) as error:
        return [type(error).__name__, str(error)]


def model_of(torch: Any) -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1))
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.copy_(torch.arange(parameter.numel()).reshape(parameter.shape) + number)
    model[2].bias.requires_grad_(False)
    return model


def trained(torch: Any, group: Any, kind: str, **options: Any) -> Any:
    model = torch.nn.parallel.DistributedDataParallel(model_of(torch), process_group=group)
    optimizer = getattr(torch.optim, kind)(
        [{"params": model.module[0].parameters()}, {"params": model.module[2].parameters(), "lr": 0.5}], **options
    )
    model(torch.eye(2)).sum().backward()
    optimizer.step()
    return model, optimizer


@program
def states(torch: Any, group: Any) -> Any:
    helpers = torch.distributed.checkpoint.state_dict
    model, optimizer = trained(torch, group, "SGD", lr=0.25, momentum=0.5)
    options = helpers.StateDictOptions
    return [
        told(helpers.get_state_dict(model, optimizer)),
        list(helpers.get_model_state_dict(model, options=options(ignore_frozen_params=True))),
        list(helpers.get_model_state_dict(model, submodules={model.module[0]})),
        list(
            helpers.get_model_state_dict(
                model, submodules={model.module[0]}, options=options(keep_submodule_prefixes=False)
            )
        ),
        told(helpers.get_optimizer_state_dict(model, optimizer, options=options(flatten_optimizer_state_dict=True))),
        list(helpers.get_model_state_dict(model, options=options(full_state_dict=True))),
        refused(lambda: helpers.get_model_state_dict(model, options=options(broadcast_from_rank0=True))),
    ]


@program
def states_of_untrained(torch: Any, group: Any) -> Any:
    helpers = torch.distributed.checkpoint.state_dict
    model = model_of(torch)
    first = torch.optim.SGD(model[0].parameters(), lr=0.25, momentum=0.5)
    second = torch.optim.Adagrad(model[2].parameters(), lr=0.5)
    state = helpers.get_optimizer_state_dict(model, [first, second])
    return told(state["state"]), [group["params"] for group in state["param_groups"]], told(list(model.parameters()))


@program
def states_are_taken(torch: Any, group: Any) -> Any:
    helpers = torch.distributed.checkpoint.state_dict
    found = []
    for flat in (False, True):
        options = helpers.StateDictOptions(flatten_optimizer_state_dict=flat)
        model, optimizer = trained(torch, group, "SGD", lr=0.25, momentum=0.5)
        saved = helpers.get_state_dict(model, optimizer, options=options)
        fresh = model_of(torch)
        other = torch.optim.SGD(
            [{"params": fresh[0].parameters()}, {"params": fresh[2].parameters(), "lr": 3.0}], lr=9.0, momentum=0.1
        )
        keys = helpers.set_state_dict(
            fresh, other, model_state_dict=saved[0], optim_state_dict=saved[1], options=options
        )
        found.append([str(keys), told(fresh.state_dict()), told(other.state_dict())])
    return found


@program
def refusals(torch: Any, group: Any) -> Any:
    helpers = torch.distributed.checkpoint.state_dict
    model = model_of(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return [
        refused(lambda: helpers.set_model_state_dict(model, {"zz": torch.ones(1)})),
        refused(
            lambda: list(
                helpers.set_model_state_dict(
                    model, {"2.bias": torch.zeros(1), "q": 1}, options=helpers.StateDictOptions(strict=False)
                )
            )
        ),
        refused(lambda: helpers.set_optimizer_state_dict(model, optimizer, {"state": {}, "param_groups": []})),
        refused(lambda: helpers.set_optimizer_state_dict(model, optimizer, {})),
    ]


def saved_state(torch: Any, spread: Callable[[Any], Any]) -> dict[str, Any]:
    """What a checkpoint is made of; `spread` makes tensors that two processes share."""
    numbers = torch.arange(15.0).reshape(5, 3)
    return {
        "model": {"whole": numbers + 1, "spread": spread(numbers), "half": torch.ones(3, dtype=torch.bfloat16)},
        "optimizer": {
            "state": {0: {"step": torch.tensor(3.0), "average": spread(-numbers)}},
            "param_groups": [{"lr": 0.1, "betas": (0.9, 0.99), "params": [0]}],
        },
        "epoch": 3,
        "mixed": [1, torch.ones(2)],
        "tuple": ("x", None),
        "empty": torch.ones(0, 2),
    }
