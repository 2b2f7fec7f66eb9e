"""What `FullyShardedDataParallel` does with its arguments: who has which part, what stays as it is, what is refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import mt_core as mt
from mt_nn.modules.module import Module

from ..world import _get_default_group
from .api import MixedPrecision, ShardingStrategy
from .flat_parameter import Layout

__all__ = ["ignored_of", "layout_of", "materialize", "refuse", "refuse_batch_norms", "unit_modules"]

_HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)


def refuse(mixed: MixedPrecision, device_id: Any) -> None:
    refused = {
        "MixedPrecision(keep_low_precision_grads=True)": mixed.keep_low_precision_grads,
        f"device_id={device_id}: cpu is": device_id is not None
        and (isinstance(device_id, int) or mt.device(device_id).type != "cpu"),
    }
    for what, is_asked in refused.items():
        if is_asked:
            name, _, reason = what.partition(": ")
            raise NotImplementedError(
                f"FullyShardedDataParallel with {name} is not supported by mindtorch"
                + (f": {reason}" if reason else "")
            )


def refuse_batch_norms(module: Module, mixed: MixedPrecision) -> None:
    if mixed.param_dtype is None and mixed.reduce_dtype is None and mixed.buffer_dtype is None:
        return
    for one in module.modules():
        if isinstance(one, tuple(mixed._module_classes_to_ignore)):
            raise NotImplementedError(
                f"FullyShardedDataParallel with mixed_precision and auto_wrap_policy of a module with a "
                f"{type(one).__name__}, which is to be kept out of mixed precision, is not supported by mindtorch: "
                "wrap modules one by one"
            )


def ignored_of(module: Module, modules: Any, states: Any) -> tuple[set[Module], list[Any]]:
    """Modules, and the parameters of these and others, that stay as they are."""
    if modules is not None and states is not None:
        raise ValueError("Cannot pass both ignored_modules and ignored_states at the same time. Please just pass "
                         "ignored_states.")  # fmt: skip
    given = list(modules if modules is not None else states if states is not None else ())
    chosen = {inner for one in given if isinstance(one, Module) for inner in one.modules()}
    if module in chosen:
        warnings.warn("Trying to ignore the top-level module passed into the FSDP constructor itself will result in "
                      f"all parameters being ignored and is not well-supported: {module}", stacklevel=3)  # fmt: skip
    parameters = [one for one in given if not isinstance(one, Module)]
    return chosen, [*parameters, *(p for one in chosen for p in one._parameters.values() if p is not None)]


def layout_of(group: Any, mesh: Any, strategy: ShardingStrategy) -> Layout:
    """Who has which part."""
    if strategy in _HYBRID:
        if mesh is not None and mesh.ndim == 2:
            spread, same = mesh.get_group(1), mesh.get_group(0)
        elif isinstance(group, tuple) and len(group) == 2:
            spread, same = group
        else:
            raise ValueError(
                f"Manual wrapping with {strategy} requires explicit specification of process group or device_mesh."
            )
        return Layout((same, spread), (same.size(), spread.size()), spread.rank())
    if mesh is not None:
        if mesh.ndim != 1:
            raise ValueError(f"{strategy} takes a mesh of one dimension, but got {mesh}")
        group = mesh.get_group(0)
    if isinstance(group, tuple):
        raise ValueError(f"Expected process_group to be passed in as either None or a single process group for "
                         f"{strategy}")  # fmt: skip
    group = group if group is not None else _get_default_group()
    if strategy is ShardingStrategy.NO_SHARD:
        return Layout((group, None), (group.size(), 1), 0)
    return Layout((None, group), (1, group.size()), group.rank())


def unit_modules(module: Module) -> list[tuple[str, Module]]:
    """The modules of a unit, without those of units below, by name."""
    found: list[tuple[str, Module]] = []
    seen: set[Module] = set()

    def visit(name: str, at: Module) -> None:
        if at in seen or "_flat" in vars(at):
            return
        seen.add(at)
        found.append((name, at))
        for key, child in at.named_children():
            visit(f"{name}.{key}" if name else key, child)

    visit("", module)
    return found


def materialize(module: Module, make: Callable[[Module], None] | None) -> None:
    """Make what is on the meta device."""
    for _, one in unit_modules(module):
        tensors = [t for t in [*one._parameters.values(), *one._buffers.values()] if t is not None]
        if not any(tensor.is_meta for tensor in tensors):
            continue
        if make is not None:
            make(one)
            continue
        one.to_empty(device="cpu", recurse=False)
        reset = getattr(one, "reset_parameters", None)
        if reset is None:
            raise ValueError(
                f"Unable to call `reset_parameters()` for module on meta device with error that {type(one).__name__} "
                "does not have it. Please ensure that your module of type implements a `reset_parameters()` method."
            )
        with mt.no_grad():
            reset()
