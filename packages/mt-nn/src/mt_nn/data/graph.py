"""Which pipes a pipe is made of."""

from __future__ import annotations

import io
import pickle
from typing import Any

from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]

Graph = dict[int, tuple[Any, Any]]


def traverse_dps(datapipe: Any) -> Graph:
    """``{id: (pipe, {...of the pipes that it holds})}``.

    Raises
    ------
    RuntimeError
        For what is no pipe.
    """
    if not isinstance(datapipe, IterDataPipe | MapDataPipe):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(datapipe)} is found")
    return _below(datapipe, set())


def traverse(datapipe: Any, only_datapipe: bool = False) -> Graph:
    """`traverse_dps`; what a pipe holds is always looked for in its attributes."""
    return traverse_dps(datapipe)


def _below(pipe: Any, above: set[int]) -> Graph:
    if id(pipe) in above:
        return {}
    found: Graph = {}
    for held in _held(pipe):
        found.update(_below(held, above | {id(pipe)}))
    return {id(pipe): (pipe, found)}


def _held(pipe: Any) -> list[Any]:
    """The pipes in the attributes of a pipe, in structures and functions of classes as well: what pickling it meets."""
    held: list[Any] = []
    known: set[int] = set()

    class Collector(pickle._Pickler):  # type: ignore[name-defined] # in Python, so that save() can be looked into
        def save(self, obj: Any, save_persistent_id: bool = True) -> None:
            if isinstance(obj, IterDataPipe | MapDataPipe) and obj is not pipe:
                if id(obj) not in known:
                    known.add(id(obj))
                    held.append(obj)
                super().save(None)
                return
            try:
                super().save(obj, save_persistent_id)
            except (pickle.PicklingError, TypeError, AttributeError, RecursionError):
                super().save(None)  # locks, lambdas and the like hold no pipes that could be found

    Collector(io.BytesIO()).save(dict(vars(pipe)))
    return held
