"""States of modules of which parts are `FullyShardedDataParallel`: by the names of the bare model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor._api import DTensor, distribute_tensor
from ..tensor.placement_types import Replicate, Shard
from ..world import get_rank
from .api import StateDictType

__all__ = ["after_load", "before_load", "hide", "show", "spread", "told"]

_PREFIX = "_fsdp_wrapped_module."


def show(unit: Any, with_grads: bool = False, first_alone: bool = False) -> None:
    """Let a unit's modules have whole parameters by their names, on all ranks or the first alone.

    Parameters
    ----------
    with_grads
        Whether they have their whole gradients.
    """
    if unit._is_summoned:
        raise AssertionError("whole parameters are there already: summon_full_params is used within itself")
    group = unit._fsdp_state.group
    if group is not None:
        if group.in_backward:
            raise AssertionError("Cannot manually unshard parameters during forward/backward")
        group.reshard()
        group.unshard()
        grads = unit._flat.whole_gradients(unit._layout) if with_grads else None
        if first_alone and unit._layout.rank != 0:
            group.reshard()
        else:
            unit._flat.show_whole(grads)
    vars(unit)["_is_summoned"] = True


def hide(unit: Any, takes_values: bool) -> None:
    """End `show`."""
    vars(unit)["_is_summoned"] = False
    group = unit._fsdp_state.group
    if group is not None and group.is_whole:
        unit._flat.hide_whole(takes_values)
        group.reshard()


def spread(unit: Any, whole: Any) -> Any:
    """A tensor as its parts on a unit's mesh.

    Raises
    ------
    NotImplementedError
        Where the unit has no mesh: PyTorch gives a ShardedTensor.
    """
    mesh = unit._device_mesh
    if mesh is None:
        raise NotImplementedError(
            "StateDictType.SHARDED_STATE_DICT of FullyShardedDataParallel without device_mesh is not supported by "
            "mindtorch, which has no ShardedTensor: give device_mesh=, and parts are DTensors"
        )
    return distribute_tensor(whole, mesh, [*[Replicate()] * (mesh.ndim - 1), Shard(0)], src_data_rank=None)


def refuse_local(kind: StateDictType) -> None:
    """Refuse parts of flat parameters."""
    if kind is StateDictType.LOCAL_STATE_DICT:
        raise NotImplementedError(
            "StateDictType.LOCAL_STATE_DICT is not supported by mindtorch, which has no ShardedTensor: "
            "FULL_STATE_DICT is, and SHARDED_STATE_DICT with device_mesh="
        )


def told(
    unit: Any, tell: Callable[..., Any], *args: Any, prefix: str = "", keep_vars: bool = False, **kwargs: Any
) -> Any:
    """The state of a unit and of what is below it."""
    if len(args) > 1:
        prefix, args = args[1], (args[0], *args[2:])
    kind, config = unit._state_dict_type, unit._state_dict_config
    refuse_local(kind)
    if kind is StateDictType.SHARDED_STATE_DICT and unit._device_mesh is None:
        spread(unit, None)
    flat = unit._flat
    is_shown = unit._is_summoned
    if not is_shown:
        show(unit)
    try:
        found = tell(*args, prefix=prefix, keep_vars=keep_vars, **kwargs)
    finally:
        if not is_shown:
            hide(unit, False)
    inner = prefix + _PREFIX
    for key in [key for key in found if key.startswith(inner)]:
        found[prefix + key.removeprefix(inner)] = found.pop(key)
    metadata = getattr(found, "_metadata", {})
    for key in [key for key in metadata if f"{key}.".startswith(inner)]:
        metadata[(prefix + f"{key}.".removeprefix(inner))[:-1]] = metadata.pop(key)
    own = [] if flat is None else [prefix + name for name in _names(flat)]
    for name, dtype in unit._buffer_dtypes.items():
        if prefix + name in found:
            found[prefix + name] = found[prefix + name].to(dtype)
    if kind is StateDictType.SHARDED_STATE_DICT:
        for key in own:
            found[key] = spread(unit, found[key])
    elif getattr(config, "rank0_only", False) and get_rank() != 0:
        for key in [key for key in found if key.startswith(prefix)]:
            del found[key]
    return found


def _names(flat: Any) -> list[str]:
    """Names of a unit's parameters, those of tied ones all of them."""
    names = {id(module): name for name, module in flat.module.named_modules()}
    return [
        f"{names[id(owner)]}.{name}" if names[id(owner)] else name
        for piece in flat.pieces
        for owner, name in piece.places
    ]


def before_load(unit: Any, state_dict: Any, prefix: str, *_: Any) -> None:
    """Let the keys have the names of the wrapped modules, and the modules have whole parameters."""
    refuse_local(unit._state_dict_type)
    inner = prefix + _PREFIX
    for key in [key for key in state_dict if key.startswith(prefix) and not key.startswith(inner)]:
        value = state_dict.pop(key)
        if isinstance(value, DTensor):
            value = value.full_tensor()
        state_dict[inner + key.removeprefix(prefix)] = value
    if not unit._is_summoned:
        show(unit)
        vars(unit)["_shown_by_load"] = True


def after_load(unit: Any, _: Any) -> None:
    """Let the parts have what was loaded."""
    if vars(unit).pop("_shown_by_load", False):
        hide(unit, True)
