"""States of optimizers of `FullyShardedDataParallel`: by the names of the bare model, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mt_core as mt
from mt_nn.modules.module import Module

from .. import distributed_c10d as dist
from ..tensor._api import DTensor
from ..world import get_rank
from . import flat_states
from .api import StateDictType

__all__ = ["taken", "told"]

_PREFIX = "_fsdp_wrapped_module."


def _units(model: Module) -> Iterator[tuple[str, Any]]:
    """Units with parameters, and what their names begin with in the bare model."""
    for name, module in model.named_modules():
        if getattr(module, "_flat", None) is not None and "_flat" in vars(module):
            clean = f"{name}.".replace(_PREFIX, "") if name else ""
            yield clean, module


def _plain(model: Module, units: list[tuple[str, Any]]) -> dict[int, str]:
    """Parameters that are in no unit, by identity."""
    of_units = {id(unit._flat.sharded) for _, unit in units}
    of_units |= {id(piece.parameter) for _, unit in units for piece in unit._flat.pieces}
    return {id(p): name.replace(_PREFIX, "") for name, p in model.named_parameters() if id(p) not in of_units}


def _settings(model: Module, units: list[tuple[str, Any]]) -> tuple[StateDictType, Any]:
    if not units:
        raise ValueError("there is no FullyShardedDataParallel in the model")
    kind = units[0][1]._state_dict_type
    flat_states.refuse_local(kind)
    return kind, units[0][1]._optim_state_dict_config


def _numbers(optim: Any) -> list[Any]:
    """The optimizer's parameters by the numbers that its state has."""
    return [parameter for group in optim.param_groups for parameter in group["params"]]


def _names_of(optim: Any, units: list[tuple[str, Any]], plain: dict[int, str]) -> dict[int, list[str]]:
    """Number of each parameter -> names of what it stands for."""
    names: dict[int, list[str]] = {}
    flats = {id(unit._flat.sharded): [prefix + piece.name for piece in unit._flat.pieces] for prefix, unit in units}
    pieces = {
        id(piece.parameter): [prefix + piece.name]
        for prefix, unit in units
        if unit._use_orig_params
        for piece in unit._flat.pieces
    }
    for number, parameter in enumerate(_numbers(optim)):
        found = flats.get(id(parameter)) or pieces.get(id(parameter))
        if found is None and id(parameter) in plain:
            found = [plain[id(parameter)]]
        if found is None:
            raise ValueError(f"the optimizer's parameter number {number} is not the model's")
        names[number] = found
    return names


def told(model: Module, optim: Any, state: dict[str, Any]) -> dict[str, Any]:
    """The state of an optimizer, with whole tensors or parts of each."""
    units = list(_units(model))
    kind, config = _settings(model, units)
    plain = _plain(model, units)
    names = _names_of(optim, units, plain)
    numbers = {id(parameter): number for number, parameter in enumerate(_numbers(optim))}
    found: dict[str, Any] = {}
    for prefix, unit in units:
        whole = _whole_states(unit, state["state"], numbers)
        for name, values in whole.items():
            if kind is StateDictType.SHARDED_STATE_DICT:
                values = {
                    key: flat_states.spread(unit, value) if isinstance(value, mt.Tensor) and value.dim() else value
                    for key, value in values.items()
                }
            found[prefix + name] = values
    for number, parameter in enumerate(_numbers(optim)):
        if id(parameter) in plain and number in state["state"]:
            found[plain[id(parameter)]] = {key: _own(value) for key, value in state["state"][number].items()}
    groups = [
        {**group, "params": [name for number in group["params"] for name in names[number]]}
        for group in state["param_groups"]
    ]
    if getattr(config, "rank0_only", False) and get_rank() != 0:
        return {}
    return {"state": found, "param_groups": groups}


def _whole_states(unit: Any, state: dict[int, Any], numbers: dict[int, int]) -> dict[str, dict[str, Any]]:
    """What a unit's parameters have, by the names in the unit: parts are gathered; numbers are of any rank."""
    flat, group = unit._flat, unit._layout.groups[1]
    if unit._use_orig_params:
        own = {
            piece.name: (flat.own(piece), state.get(numbers.get(id(piece.parameter), -1), {})) for piece in flat.pieces
        }
    else:
        values = state.get(numbers.get(id(flat.sharded), -1), {})
        own = {piece.name: (flat.own(piece), _cut(values, flat.own(piece), flat.sizes[0])) for piece in flat.pieces}
    # Ranks on which a parameter has no element may have no state of it.
    kinds = {
        name: {key: _kind(value) for key, value in values.items() if not _is_part(value) or at.stop > at.start}
        for name, (at, values) in own.items()
    }
    of_all: list[Any] = [kinds]
    if flat.count > 1:
        of_all = [None] * flat.count
        dist.all_gather_object(of_all, kinds, group=group)
    merged: dict[str, dict[str, Any]] = {
        piece.name: {key: kind for told in of_all for key, kind in told[piece.name].items()} for piece in flat.pieces
    }
    found: dict[str, dict[str, Any]] = {name: {} for name, known in merged.items() if known}
    keys = dict.fromkeys(key for known in merged.values() for key, kind in known.items() if kind[0] == "part")
    for key in keys:
        dtype = next(known[key][1] for known in merged.values() if key in known)
        part = mt.zeros(flat.sizes[0], dtype=dtype)
        for at, values in own.values():
            if key in values and at.stop > at.start:
                part[at].copy_(values[key].detach().reshape(-1))
        every = part
        if flat.count > 1:
            every = mt.empty(flat.count * flat.sizes[0], dtype=dtype)
            dist.all_gather_into_tensor(every, part, group=group)
        for piece, view in zip(flat.pieces, flat.views(every), strict=True):
            if key in merged[piece.name]:
                found[piece.name][key] = view.clone()
    for name, known in merged.items():
        for key, kind in known.items():
            if kind[0] == "value":
                found[name][key] = kind[1]
    return {name: {key: found[name][key] for key in known} for name, known in merged.items() if known}


def _is_part(value: Any) -> bool:
    return isinstance(value, mt.Tensor) and value.dim() > 0


def _kind(value: Any) -> tuple[str, Any]:
    return ("part", value.dtype) if _is_part(value) else ("value", _own(value))


def _own(value: Any) -> Any:
    """A value that its optimizer does not write to."""
    return value.clone() if isinstance(value, mt.Tensor) else value


def _cut(values: dict[str, Any], at: slice, size: int) -> dict[str, Any]:
    """The state of one piece of a flat parameter."""
    cut = {}
    for key, value in values.items():
        if _is_part(value) and value.numel() != size:
            raise NotImplementedError(
                f"the state {key} of a flat parameter has {value.numel()} elements, the parameter {size}: such states "
                "cannot be told by the names of the bare model"
            )
        cut[key] = value[at] if _is_part(value) else value
    return cut


def taken(model: Module, optim: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The state of an optimizer as this rank's parameters have it."""
    units = list(_units(model))
    _, config = _settings(model, units)
    if getattr(config, "rank0_only", False):
        holder = [given]
        dist.broadcast_object_list(holder, src=0)
        given = holder[0]
    plain = _plain(model, units)
    names = _names_of(optim, units, plain)
    pieces = {prefix + piece.name: (unit._flat, piece) for prefix, unit in units for piece in unit._flat.pieces}
    known = set(given["state"])
    state: dict[int, Any] = {}
    for number, parameter in enumerate(_numbers(optim)):
        present = [name for name in names[number] if name in known]
        if not present:
            continue
        if id(parameter) in plain:
            state[number] = {key: _own(value) for key, value in given["state"][present[0]].items()}
            continue
        made: dict[str, Any] = {}
        for name in names[number]:
            flat, piece = pieces[name]
            if name not in known:
                raise ValueError(f"the state of {name} is missing, but others of its flat parameter have one")
            for key, value in given["state"][name].items():
                value = value.full_tensor() if isinstance(value, DTensor) else value
                if not _is_part(value):
                    made[key] = _own(value)
                    continue
                at, begin = flat.own(piece), flat.rank * flat.sizes[0] - piece.start
                part = value.detach().reshape(-1)[begin + at.start : begin + at.stop]
                if parameter is piece.parameter:
                    made[key] = part.view(parameter.shape).clone()
                else:
                    made.setdefault(key, mt.zeros(flat.sizes[0], dtype=value.dtype))[at].copy_(part)
        state[number] = made
    groups = []
    numbers = {name: number for number, held in names.items() for name in held}
    own = optim.state_dict()["param_groups"]
    for group in given["param_groups"]:
        members = list(dict.fromkeys(numbers[name] for name in group["params"] if name in numbers))
        groups.append({**group, "params": members})
    if sorted(map(sorted, (g["params"] for g in groups))) != sorted(map(sorted, (g["params"] for g in own))):
        raise ValueError("the state's groups of parameters are not the optimizer's")
    return {"state": state, "param_groups": groups}
