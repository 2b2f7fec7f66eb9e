"""States of models and optimizers under the names that the bare model has, however it is wrapped or spread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import mt_core as mt
from mt_core import pytree
from mt_nn.modules.module import Module, _IncompatibleKeys
from mt_nn.optim.optimizer import Optimizer

from .. import distributed_c10d as dist
from ..data_parallel.module import DistributedDataParallel
from .pieces import filled, is_spread, whole_of

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]


@dataclass
class StateDictOptions:
    """What is told of states, and how they are taken.

    Parameters
    ----------
    full_state_dict
        Whether tensors that are spread are collected; all ranks call then.
    cpu_offload
        Whether tensors are moved to the CPU; with `full_state_dict` rank 0 alone gets them, and others nothing.
    ignore_frozen_params
        Whether parameters that require no gradient are left out.
    keep_submodule_prefixes
        Whether names of `submodules` begin with theirs.
    strict
        Whether names have to match when a model takes a state.
    broadcast_from_rank0
        Whether rank 0's state is given to all; with `full_state_dict`.
    flatten_optimizer_state_dict
        Whether the state of optimizers has one level: ``state.NAME.exp_avg``, ``param_groups.NAME.lr``.
    dsd_fqn_modifiers
        Refused, but for the default.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _checked(model: Module, options: StateDictOptions | None) -> StateDictOptions:
    options = options or StateDictOptions()
    if any("_flat" in vars(module) for module in model.modules()):
        raise NotImplementedError(
            "states of FullyShardedDataParallel by torch.distributed.checkpoint.state_dict are not supported by "
            "mindtorch: its own state_dict, load_state_dict, optim_state_dict and optim_state_dict_to_load are"
        )
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    if options.dsd_fqn_modifiers != "_fqn_modifiers":
        raise NotImplementedError("StateDictOptions with dsd_fqn_modifiers is not supported by mindtorch")
    return options


def _bare_name(model: Module, name: str) -> str:
    """A name without the parts that wrappers add."""
    parts: list[str] = []
    place: Any = model
    for part in name.split("."):
        is_wrapper = isinstance(place, DistributedDataParallel) and part == "module"
        if not is_wrapper and part not in ("_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module"):
            parts.append(part)
        place = getattr(place, part, None)
    return ".".join(parts)


def _names_of(model: Module) -> dict[int, str]:
    """Identity of a parameter -> its name; of shared parameters the first."""
    names: dict[int, str] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), _bare_name(model, name))
    return names


def _optimizers(given: Optimizer | Iterable[Optimizer]) -> tuple[Optimizer, ...]:
    return (given,) if isinstance(given, Optimizer) else tuple(given)


def _told(state: Any, options: StateDictOptions) -> Any:
    """A state as the options want it: spread tensors collected, moved to the CPU."""
    if not options.full_state_dict and not options.cpu_offload:
        return state
    keeps = not (options.full_state_dict and options.cpu_offload) or not dist.is_initialized() or dist.get_rank() == 0

    def one(leaf: Any) -> Any:
        if not isinstance(leaf, mt.Tensor):
            return leaf
        if options.full_state_dict and is_spread(leaf):
            leaf = whole_of(leaf)
        return leaf.cpu() if options.cpu_offload else leaf

    told = pytree.tree_map(one, state)
    return told if keeps else {}


def get_model_state_dict(
    model: Module, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of a model, under the names of the bare model.

    Parameters
    ----------
    submodules
        Modules of it whose state alone is told.
    """
    options = _checked(model, options)
    state = {_bare_name(model, name): value for name, value in model.state_dict().items()}
    if options.ignore_frozen_params:
        for name, parameter in model.named_parameters(remove_duplicate=False):
            if not parameter.requires_grad:
                state.pop(_bare_name(model, name), None)
    if submodules:
        state = dict(_of_submodules(model, state, submodules, options.keep_submodule_prefixes))
    told: dict[str, Any] = _told(state, options)
    return told


def _of_submodules(
    model: Module, state: dict[str, Any], submodules: set[Module], keeps_prefixes: bool
) -> Iterator[tuple[str, Any]]:
    for name, module in model.named_modules():
        if module in submodules:
            prefix = _bare_name(model, name) + "."
            for key, value in state.items():
                if key.startswith(prefix):
                    yield key if keeps_prefixes else key.removeprefix(prefix), value


def _make_state(optimizer: Optimizer) -> None:
    """Let an optimizer have the state that it has after a step, with nothing changed."""
    if optimizer.state:
        return
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if any(p.grad is not None for p in parameters):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    try:
        for p in parameters:
            if p.requires_grad:
                p.grad = mt.zeros_like(p)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            if rate is not None:
                group["lr"] = mt.tensor(0.0) if isinstance(rate, mt.Tensor) else 0.0
        optimizer.step(closure=None)
    finally:
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            if rate is not None:
                group["lr"] = rate
        optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The states of optimizers as that of one, with names of the bare model in the place of numbers.

    An optimizer that has no state, and no gradients are there, is let have that of a first step.

    Raises
    ------
    KeyError
        Where a parameter is none of the model's.
    """
    options = _checked(model, options)
    names = _names_of(model)
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _optimizers(optimizers):
        _make_state(optimizer)
        packed = optimizer.state_dict()
        for group, whole in zip(packed["param_groups"], optimizer.param_groups, strict=True):
            named = [names[id(p)] for p in whole["params"]]
            groups.append({**group, "params": named})
            for number, name in zip(group["params"], named, strict=True):
                if number in packed["state"]:
                    state[name] = packed["state"][number]
    if submodules:
        kept = {
            _bare_name(model, f"{prefix}.{name}" if prefix else name)
            for prefix, module in model.named_modules()
            if module in submodules
            for name, _ in module.named_parameters()
        }
        state = {name: value for name, value in state.items() if name in kept}
        groups = [{**group, "params": [name for name in group["params"] if name in kept]} for group in groups]
    found: dict[str, Any] = {"state": state, "param_groups": groups}
    if options.flatten_optimizer_state_dict:
        found = _flat(found)
    told: dict[str, Any] = _told(found, options)
    return told


def _flat(state: dict[str, Any]) -> dict[str, Any]:
    flat = {f"state.{name}.{key}": value for name, values in state["state"].items() for key, value in values.items()}
    for group in state["param_groups"]:
        for name in group["params"]:
            flat |= {f"param_groups.{name}.{key}": value for key, value in group.items() if key != "params"}
    return flat


def _unflat(flat: dict[str, Any], optimizer: Optimizer, names: dict[int, str]) -> dict[str, Any]:
    """The part of a flat state that is an optimizer's, nested."""
    state: dict[str, Any] = {}
    groups = []
    for group in optimizer.param_groups:
        named = [names[id(p)] for p in group["params"]]
        for name in named:
            prefix = f"state.{name}."
            own = {key.removeprefix(prefix): value for key, value in flat.items() if key.startswith(prefix)}
            own = {key: value for key, value in own.items() if "." not in key}
            if own:
                state[name] = own
        first = f"param_groups.{named[0]}." if named else ""
        options = {key: flat[first + key] for key in group if key != "params" and first + key in flat}
        groups.append({**options, "params": named})
    return {"state": state, "param_groups": groups}


def get_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """`get_model_state_dict` and `get_optimizer_state_dict`."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def _from_first(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    if not options.broadcast_from_rank0 or not dist.is_initialized():
        return state
    box: list[Any] = [state if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    found: dict[str, Any] = box[0]
    return found


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> _IncompatibleKeys:
    """Let a model take a state; tensors that are spread over ranks take their parts of whole ones.

    Raises
    ------
    RuntimeError
        Where names or shapes do not match, and the options are strict.
    """
    options = _checked(model, options)
    given = _from_first(dict(model_state_dict), options)
    own = model.state_dict()
    bare = {_bare_name(model, name): name for name in own}
    taken: dict[str, Any] = {}
    for name, value in given.items():
        full = bare.get(name, name)
        target = own.get(full)
        taken[full] = filled(target, value) if is_spread(target) and not is_spread(value) else value
    return model.load_state_dict(taken, strict=options.strict)


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Let optimizers take their parts of a state.

    Raises
    ------
    RuntimeError
        Of an empty state.
    KeyError
        Where a parameter of an optimizer is not in it.
    ValueError
        Where groups differ in number.
    """
    options = _checked(model, options)
    names = _names_of(model)
    given = _from_first(optim_state_dict, options)
    if not given:
        raise RuntimeError(
            "The option indicates that model state_dict is required to save, or load but optim state_dict is empty. "
            f"{given}"
        )
    every = _optimizers(optimizers)
    for optimizer in every:
        _make_state(optimizer)
        part = given if "state" in given and "param_groups" in given else _unflat(given, optimizer, names)
        optimizer.load_state_dict(_numbered(part, optimizer, names, len(every) == 1))


def _numbered(given: dict[str, Any], optimizer: Optimizer, names: dict[int, str], is_only: bool) -> dict[str, Any]:
    """A state with numbers in the place of names, as an optimizer takes it."""
    if is_only and len(given["param_groups"]) != len(optimizer.param_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    group_of = {name: group for group in given["param_groups"] for name in group["params"]}
    state: dict[int, Any] = {}
    groups: list[dict[str, Any]] = []
    count = 0
    for group in optimizer.param_groups:
        numbers = list(range(count, count + len(group["params"])))
        count += len(numbers)
        for number, p in zip(numbers, group["params"], strict=True):
            name = names[id(p)]
            if name in given["state"]:
                state[number] = _placed(given["state"][name], optimizer.state.get(p, {}))
        source = group_of[names[id(group["params"][0])]] if group["params"] else group
        groups.append({**{key: value for key, value in source.items() if key != "params"}, "params": numbers})
    return {"state": state, "param_groups": groups}


def _placed(values: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    return {
        key: filled(own[key], value)
        if isinstance(value, mt.Tensor) and is_spread(own.get(key)) and not is_spread(value)
        else value
        for key, value in values.items()
    }


def set_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> _IncompatibleKeys:
    """`set_model_state_dict` and `set_optimizer_state_dict`."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found
