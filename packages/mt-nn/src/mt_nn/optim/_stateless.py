"""An optimizer working on other parameters and another state than its own, for a while."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mt_core as mt

from .optimizer import Optimizer

__all__ = ["swap_in_optimizer_params_and_state"]


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, mt.Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Put other parameters and state into an optimizer; on leaving, its own return.

    Parameters
    ----------
    optimizer
        Has taken a step, so that its state exists.
    swapin_parameters
        Tensors in the order of the optimizer's own.
    swapin_optim_state
        A state as from ``state_dict()``. Its tensors are used themselves: what a step writes into them stays.

    Raises
    ------
    RuntimeError
        Where the number of parameters or of groups differs, or the optimizer has no state yet.
    """
    replacements = list(swapin_parameters.values())
    own_groups, own_state = optimizer.param_groups, optimizer.state
    own = [parameter for group in own_groups for parameter in group["params"]]
    options = swapin_optim_state["param_groups"]
    name = swap_in_optimizer_params_and_state.__name__
    if not own_state:
        raise RuntimeError(f"{name} requires initialized optimizer state.")
    if len(own) != len(replacements):
        raise RuntimeError(f"{name} requires the explicit parameter state to match optimizer.param_groups ordering.")
    if len(options) != len(own_groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    positions = dict(zip(map(id, own), replacements, strict=True))
    try:
        optimizer.param_groups = [
            {**group, **loaded, "params": [positions[id(p)] for p in group["params"]]}
            for group, loaded in zip(own_groups, options, strict=True)
        ]
        optimizer.state = type(own_state)(dict, _keyed_by_parameter(swapin_optim_state, optimizer.param_groups))
        yield
    finally:
        optimizer.param_groups, optimizer.state = own_groups, own_state


def _keyed_by_parameter(state_dict: dict[str, Any], groups: list[dict[str, Any]]) -> dict[Any, Any]:
    by_position = {
        position: parameter
        for loaded, group in zip(state_dict["param_groups"], groups, strict=True)
        for position, parameter in zip(loaded["params"], group["params"], strict=True)
    }
    return {by_position.get(key, key): dict(value) for key, value in state_dict["state"].items()}
