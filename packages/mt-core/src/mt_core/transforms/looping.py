"""Operators without a batching rule: called once for each lane."""

from __future__ import annotations

from typing import Any

from ..dispatch.registry import Overload, find_overload
from ..tensor import Tensor
from .batched import Lanes

__all__ = ["FALLBACK", "loop_over_lanes"]


class _Fallback:
    """Whether operators may be called lane by lane in this process, and whether that warns."""

    is_enabled = True
    warns = True


FALLBACK = _Fallback()


def loop_over_lanes(overload: Overload, lanes: list[Any], size: int) -> Any:
    """What an operator gives for each lane, stacked along a new first dimension.

    Raises
    ------
    RuntimeError
        For forms that write to ``out=``, views, and no lanes at all.
    """
    refuse(overload, size)
    results = [overload.call(*(_lane(argument, index) for argument in lanes)) for index in range(size)]
    return None if overload.schema.is_mutable else _stacked(results)


def refuse(overload: Overload, size: int) -> None:
    """Refuse what cannot be done lane by lane.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    is_view = any(result.alias is not None for result in overload.schema.returns)
    if overload.declaration.form == "out" or is_view and not overload.schema.is_mutable:
        raise RuntimeError(
            f"Batching rule not implemented for {overload.qualified_name}; the fallback path doesn't work on out= or "
            "view ops."
        )
    if not size:
        raise RuntimeError(
            f"The fallback vmap path does not support vmap over dims of size 0. {overload.qualified_name}"
        )


def _lane(argument: Any, index: int) -> Any:
    if isinstance(argument, Lanes):
        return argument.value if argument.dim is None else argument.value.select(argument.dim, index)
    if isinstance(argument, list) and argument and isinstance(argument[0], Lanes):
        return [_lane(item, index) for item in argument]
    return argument


def _stacked(results: list[Any]) -> Any:
    first = results[0]
    if isinstance(first, Tensor):
        return find_overload("stack").call(results, 0)
    if isinstance(first, (tuple, list)):
        items = [_stacked(list(column)) for column in zip(*results, strict=True)]
        return items if first.__class__ is list else first.__class__(items)
    return first
