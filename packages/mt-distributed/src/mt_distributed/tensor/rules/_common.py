"""What rules share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..placement_types import Partial, Placement, Replicate, Shard
from ..strategies import Call, Strategy

__all__ = ["R", "SUM", "along", "dims_of", "everywhere", "strategy"]

R = Replicate()
SUM = Partial("sum")


def strategy(outputs: Placement | Sequence[Placement], *inputs: Placement | None) -> Strategy:
    """A strategy; one result may stand alone."""
    return Strategy(tuple(outputs) if isinstance(outputs, Sequence) else (outputs,), inputs)


def everywhere(call: Call, results: int = 1) -> Strategy:
    """All ranks have all of everything."""
    return Strategy((R,) * results, (R,) * len(call.tensors))


def dims_of(dims: int | Sequence[int] | None, ndim: int) -> set[int]:
    """Dimensions counted from the front; all for None or none at all."""
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return set(range(ndim))
    return {dim % max(ndim, 1) for dim in ([dims] if isinstance(dims, int) else dims)}


def along(call: Call, blocked: Iterable[int], results: int = 1) -> list[Strategy]:
    """The operator works for each index of the dimensions that are not blocked alone: these may be split.

    All tensors among the arguments have as many dimensions, and so have the results.
    """
    free = [dim for dim in range(call.ndim()) if dim not in set(blocked)]
    found = [everywhere(call, results)]
    for dim in free:
        shard = Shard(dim)
        found.append(Strategy((shard,) * results, (shard,) * len(call.tensors)))
    return found
