"""`load`."""

from __future__ import annotations

import os
from typing import Any

import mt_core as mt

from .default_planner import DefaultLoadPlanner
from .filesystem import FileSystemReader
from .planner import LoadPlan, LoadPlanner
from .ranks import Ranks, ranks_of
from .state_dict_saver import stated
from .stateful import Stateful
from .storage import StorageReader

__all__ = ["load", "load_state_dict"]


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: StorageReader | None = None,
    planner: LoadPlanner | None = None,
    process_group: Any | None = None,
    no_dist: bool = False,
) -> None:
    """Fill a state dict with what was saved, by however many ranks.

    Tensors are filled in place, each rank's pieces of those that are spread; all else is replaced; objects with
    ``load_state_dict`` are given their state. Pickles of what is no tensor may run anything: load files that you trust.

    Parameters
    ----------
    state_dict
        With the names and shapes that are wanted.
    checkpoint_id
        A folder, where no reader is given.
    storage_reader, planner
        Where from, and how.
    process_group
        The ranks; all of them for None, and this process alone where there are no groups.
    no_dist
        Whether this process loads alone.

    Raises
    ------
    CheckpointException
        On all ranks, where one fails: what is wanted is missing or of another shape.
    """
    ranks = ranks_of(process_group, no_dist, "load")
    if storage_reader is None:
        if not checkpoint_id:
            raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
        storage_reader = FileSystemReader(checkpoint_id)
    keys = list(state_dict)
    if ranks.group is not None:
        # Not all ranks need have all: what a rank lacks it takes no part in.
        every = {key: None for own in ranks.each("keys", lambda: keys) for key in own}
        keys = [key for key in every if key in state_dict]
    stateful = stated({key: state_dict[key] for key in keys})
    _load(stateful, storage_reader, planner or DefaultLoadPlanner(), ranks, checkpoint_id)
    for key in keys:
        given = state_dict[key]
        if isinstance(given, Stateful) and not isinstance(given, mt.Tensor):
            given.load_state_dict(stateful[key])
        else:
            state_dict[key] = stateful[key]


def _load(
    state: dict[str, Any],
    reader: StorageReader,
    planner: LoadPlanner,
    ranks: Ranks,
    checkpoint_id: str | os.PathLike[str] | None,
) -> None:
    if checkpoint_id is not None:
        reader.reset(checkpoint_id)

    def local() -> LoadPlan:
        metadata = reader.read_metadata()
        planner.set_up_planner(state, metadata, ranks.is_coordinator)
        reader.set_up_storage_reader(metadata, ranks.is_coordinator)
        return reader.prepare_local_plan(planner.create_local_plan())

    def together(plans: list[LoadPlan]) -> list[LoadPlan]:
        return reader.prepare_global_plan(planner.create_global_plan(plans))

    plans: list[LoadPlan] = ranks.step("plan", local, together)
    ranks.each("read", lambda: reader.read_data(planner.finish_plan(plans[ranks.rank]), planner).wait())


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: Any | None = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """`load` by its older name, of tensors and values alone. Another coordinator than rank 0 is refused."""
    if coordinator_rank != 0:
        raise NotImplementedError("a checkpoint is coordinated by rank 0 alone")
    load(state_dict, storage_reader=storage_reader, process_group=process_group, no_dist=no_dist, planner=planner)
