"""Lanes as part of a dimension that operators have already, and how a rule refuses what the operator would."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ..batched import Lanes
from ._rules import Batch, Rule, batching_rule, shifted_dims, without_last

__all__ = ["along", "folded", "is_shared", "over_samples", "refuse_as_lane", "require_ranks", "unfolded"]


def is_shared(*arguments: Any) -> bool:
    """Whether none of the arguments, tensors and others, differs between lanes."""
    return all(not isinstance(a, Lanes) or a.dim is None for a in arguments)


def folded(lanes: Lanes, size: int) -> Any:
    """(B, N, ...) as (B N, ...)."""
    value = lanes.spread(size)
    shape = value.shape
    return value.reshape((size * shape[1], *shape[2:]))


def unfolded(result: Any, size: int, count: int) -> Any:
    """(B N, ...) as (B, N, ...), of one result or of several; `count` is N."""
    if isinstance(result, (tuple, list)):
        return tuple(unfolded(item, size, count) for item in result)
    return result.reshape((size, count, *result.shape[1:]))


def refuse_as_lane(batch: Batch, args: Sequence[Any]) -> NoReturn:
    """Refuse what a rule is not for, in the operator's words for the arguments of a single lane.

    Raises
    ------
    RuntimeError
        Whatever the operator raises; else one that names it.
    """
    batch.overload.call(*(_first_lane(a) for a in args))
    ranks = [a.rank for a in args if isinstance(a, Lanes)]
    raise RuntimeError(f"vmap: {batch.overload.qualified_name} of tensors of {ranks} dimensions is not batched")


def _first_lane(argument: Any) -> Any:
    if not isinstance(argument, Lanes):
        return argument
    return argument.value if argument.dim is None else argument.value.select(argument.dim, 0)


def require_ranks(batch: Batch, args: Sequence[Any], *ranks: int) -> None:
    """Refuse tensors, the first of `args`, of other numbers of dimensions than the operator takes."""
    if any(lanes.rank != rank for lanes, rank in zip(args, ranks)):
        refuse_as_lane(batch, args)


def over_samples(*names: str, inner: int, sizes: str = "", single: bool = False) -> None:
    """Operators that treat each sample alike, of tensors (N, ...) with `inner` dimensions behind N.

    Parameters
    ----------
    sizes
        The list of sizes among the arguments that begins with N.
    single
        Whether they also take one sample without N: lanes then are the samples.
    """
    for name in names:
        batching_rule(name)(_over_samples(inner, sizes, single))


def _over_samples(inner: int, sizes: str, single: bool) -> Rule:
    def rule(batch: Batch, *args: Any) -> Any:
        tensors = [a for a in args if isinstance(a, Lanes)]
        rank = tensors[0].rank
        if single and rank == inner:
            return batch.overload.call(*(a.spread(batch.size) if isinstance(a, Lanes) else a for a in args))
        if rank != inner + 1 or any(lanes.rank < 1 for lanes in tensors):
            refuse_as_lane(batch, args)
        count = tensors[0].shape[0]
        names = [argument.name for argument in batch.overload.schema.arguments]
        changed = [_per_sample(a, batch.size, name == sizes) for a, name in zip(args, names, strict=True)]
        return unfolded(batch.overload.call(*changed), batch.size, count)

    return rule


def _per_sample(argument: Any, size: int, is_sizes: bool) -> Any:
    if is_sizes:
        return [argument[0] * size, *argument[1:]]
    return folded(argument, size) if isinstance(argument, Lanes) else argument


def along(*names: str) -> None:
    """Operators of several tensors of one number of dimensions, along a dimension `dim` of theirs."""
    for name in names:
        batching_rule(name)(_along)


def _along(batch: Batch, *args: Any) -> Any:
    named = zip(batch.overload.schema.arguments, args, strict=True)
    rank = next(a.rank for a in args if isinstance(a, Lanes))
    changed = [shifted_dims(a, rank) if argument.name == "dim" else a for argument, a in named]
    tensors = [a.spread(batch.size) if isinstance(a, Lanes) else a for a in changed]
    if rank:
        return batch.overload.call(*tensors)
    widened = [t.unsqueeze(-1) if isinstance(a, Lanes) else t for t, a in zip(tensors, args, strict=True)]
    return without_last(batch.overload.call(*widened))
