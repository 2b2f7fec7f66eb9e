"""``torch.library.register_vmap``: a rule of a library's operator for all lanes of ``vmap`` at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mt_core.dispatch.registry import Overload
from mt_core.tensor import Tensor
from mt_core.transforms.batched import Lanes
from mt_core.transforms.batching_rules import _rules
from mt_core.transforms.batching_rules._rules import Batch

from .defaults import defaults_left_out

__all__ = ["VmapInfo", "enter_rule", "withdraw_rule"]


class VmapInfo(NamedTuple):
    """What a rule is told: the number of lanes, and what the user said of random numbers."""

    batch_size: int
    randomness: str


def enter_rule(overload: Overload, function: Callable[..., Any]) -> None:
    """Have calls with batched arguments carried out by ``function(info, in_dims, *args)`` -> (results, out_dims).

    `in_dims` has the batch dimension of each positional argument, None where there is none; of a list of tensors, a
    list. The function runs outside of the level of ``vmap``.
    """
    split = defaults_left_out(overload.schema)

    def rule(batch: Batch, *args: Any) -> Any:
        positional, named = split(args)
        in_dims = tuple(_dims(value) for value in positional)
        info = VmapInfo(batch.size, batch.randomness)
        named = {name: _plain(value) for name, value in named.items()}
        results, out_dims = function(info, in_dims, *(_plain(value) for value in positional), **named)
        return _lanes(results, out_dims)

    _rules.enter_rule(overload.name, rule)


def withdraw_rule(overload: Overload) -> None:
    """Forget the rule of an operator."""
    _rules.withdraw_rule(overload.name)


def _plain(value: Any) -> Any:
    if isinstance(value, Lanes):
        return value.value
    return [_plain(item) for item in value] if value.__class__ is list else value


def _dims(value: Any) -> Any:
    if isinstance(value, Lanes):
        return value.dim
    if value.__class__ is list:
        return [_dims(item) for item in value]
    return None


def _lanes(results: Any, dims: Any) -> Any:
    """Results with their batch dimensions.

    Raises
    ------
    ValueError
        Where the two have other structures.
    """
    if isinstance(results, Tensor):
        return Lanes(results, dims)
    if isinstance(results, (tuple, list)):
        dims = dims if isinstance(dims, (tuple, list)) else [dims] * len(results)
        if len(dims) != len(results):
            raise ValueError(f"register_vmap: {len(results)} results, but {len(dims)} out_dims")
        return type(results)(_lanes(result, dim) for result, dim in zip(results, dims))
    return results
