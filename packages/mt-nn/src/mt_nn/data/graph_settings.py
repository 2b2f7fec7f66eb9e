"""Settings of all the pipes that one is made of: shards, shuffling, seeds."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import mt_core as mt

from .datapipes.iter.combinatorics import Shuffler
from .datapipes.iter.sharding import SHARDING_PRIORITIES, _ShardingIterDataPipe
from .graph import traverse_dps

__all__ = [
    "apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings", "get_all_graph_pipes",
]  # fmt: skip


def get_all_graph_pipes(graph: Any) -> list[Any]:
    """The pipes of a graph, each once."""
    found: dict[int, Any] = {}
    for pipe in _every(graph):
        found.setdefault(id(pipe), pipe)
    return list(found.values())


def _every(graph: Any) -> Iterator[Any]:
    for pipe, below in graph.values():
        yield pipe
        yield from _every(below)


def apply_sharding(
    datapipe: Any, num_of_instances: int, instance_id: int, sharding_group: Any = SHARDING_PRIORITIES.DEFAULT
) -> Any:
    """Let the sharding pipes keep one part of several; with their group, where they are of one.

    Raises
    ------
    RuntimeError
        Where one lies behind another.
    """
    _shard(traverse_dps(datapipe), num_of_instances, instance_id, sharding_group, None)
    return datapipe


def _shard(graph: Any, count: int, which: int, group: Any, above: Any) -> None:
    for pipe, below in graph.values():
        nearest = above
        if _is_sharding_datapipe(pipe):
            if above is not None:
                raise RuntimeError(
                    f"Sharding twice on a single pipeline is likely unintended and will cause data loss. "
                    f"Sharding already applied to {above} while trying to apply to {pipe}"
                )
            arguments = [count, which]
            if len(inspect.signature(pipe.apply_sharding).parameters) >= 3:
                arguments.append(group)
            pipe.apply_sharding(*arguments)
            nearest = pipe
        _shard(below, count, which, group, nearest)


def _is_sharding_datapipe(pipe: Any) -> bool:
    return isinstance(pipe, _ShardingIterDataPipe) or _has_method(pipe, "apply_sharding")


def _has_method(pipe: Any, name: str) -> bool:
    return inspect.ismethod(getattr(type(pipe), name, None) and getattr(pipe, name))


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Switch the shuffling pipes; where there is none, and it is asked for, one is put behind, with a warning."""
    if shuffle is None:
        return datapipe
    shufflers = [pipe for pipe in get_all_graph_pipes(traverse_dps(datapipe)) if _is_shuffle_datapipe(pipe)]
    if not shufflers and shuffle:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. "
            "Be aware that the default buffer size might not be sufficient for your task.",
            stacklevel=2,
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for shuffler in shufflers:
        shuffler.set_shuffle(shuffle)
    return datapipe


def _is_shuffle_datapipe(pipe: Any) -> bool:
    return isinstance(pipe, Shuffler) or _has_method(pipe, "set_shuffle") and _has_method(pipe, "set_seed")


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    """The older name of `apply_random_seed`."""
    return apply_random_seed(datapipe, rng)


def apply_random_seed(datapipe: Any, rng: mt.Generator) -> Any:
    """Give every pipe that has ``set_seed`` a seed drawn from a generator, those behind first."""
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if _has_method(pipe, "set_seed"):
            pipe.set_seed(int(mt.empty((), dtype=mt.int64).random_(generator=rng).item()))
    return datapipe
