"""`save` and `async_save`."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import Any

import mt_core as mt
from mt_core import pytree

from .default_planner import DefaultSavePlanner
from .filesystem import FileSystemWriter
from .metadata import Metadata
from .planner import SavePlan, SavePlanner
from .ranks import Ranks, ranks_of
from .stateful import Stateful
from .storage import StorageWriter, WriteResult

__all__ = ["AsyncCheckpointerType", "AsyncSaveResponse", "async_save", "save", "save_state_dict"]


class AsyncCheckpointerType(Enum):
    """Who writes while training goes on."""

    THREAD = "thread"
    PROCESS = "process"


@dataclass
class AsyncSaveResponse:
    """When the state may be changed, and when it is written."""

    staging_completion: Future[None]
    upload_completion: Future[None]


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Write a state dict with all ranks of a group, each its pieces of tensors that are spread over them.

    Parameters
    ----------
    state_dict
        Nested dicts and lists of tensors and of anything that can be pickled; of objects with ``state_dict`` theirs is
        saved.
    checkpoint_id
        A folder, where no writer is given.
    storage_writer, planner
        Where to, and how.
    process_group
        The ranks; all of them for None, and this process alone where there are no groups.
    no_dist
        Whether this process saves alone.

    Returns
    -------
    Metadata
        What was saved.

    Raises
    ------
    CheckpointException
        On all ranks, where one fails.
    """
    if not use_collectives:
        raise NotImplementedError("torch.distributed.checkpoint.save with use_collectives=False is not supported")
    ranks = ranks_of(process_group, no_dist, "save")
    writer = writer_of(storage_writer, checkpoint_id)
    return _save(stated(state_dict), writer, planner or DefaultSavePlanner(), ranks, checkpoint_id)


def writer_of(given: StorageWriter | None, checkpoint_id: str | os.PathLike[str] | None) -> StorageWriter:
    """The writer that was given, or one to a folder."""
    if given is not None:
        return given
    if not checkpoint_id:
        raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
    return FileSystemWriter(checkpoint_id)


def stated(state_dict: dict[str, Any]) -> dict[str, Any]:
    """A state dict with the states of its objects in their place."""
    return {
        key: value.state_dict() if isinstance(value, Stateful) and not isinstance(value, mt.Tensor) else value
        for key, value in state_dict.items()
    }


def _save(
    state: dict[str, Any],
    writer: StorageWriter,
    planner: SavePlanner,
    ranks: Ranks,
    checkpoint_id: str | os.PathLike[str] | None,
) -> Metadata:
    if checkpoint_id is not None:
        writer.reset(checkpoint_id)

    def local() -> SavePlan:
        planner.set_up_planner(
            state_dict=state, storage_meta=writer.storage_meta(), is_coordinator=ranks.is_coordinator
        )
        writer.set_up_storage_writer(ranks.is_coordinator)
        return writer.prepare_local_plan(planner.create_local_plan())

    def together(plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        plans, metadata = planner.create_global_plan(plans)
        return writer.prepare_global_plan(plans), metadata

    plans, metadata = ranks.step("plan", local, together)

    def write() -> list[WriteResult]:
        return writer.write_data(planner.finish_plan(plans[ranks.rank]), planner).wait()

    def finish(results: list[list[WriteResult]]) -> Metadata:
        writer.finish(metadata, results)
        return metadata

    found: Metadata = ranks.step("write", write, finish)
    return found


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any | None = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: Any | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[Any]:
    """Copy a state dict, and let a thread `save` the copy.

    While it is written nobody else may use the group: give one of its own to `process_group`, for the order of
    collectives is to be the same on all ranks.

    Returns
    -------
    concurrent.futures.Future
        Of what `save` returns.
    """
    if async_checkpointer_type is not AsyncCheckpointerType.THREAD or async_stager is not None:
        raise NotImplementedError(
            "torch.distributed.checkpoint.async_save in another process, or with a stager, is not supported by "
            "mindtorch: AsyncCheckpointerType.THREAD is"
        )
    copied = pytree.tree_map(
        lambda leaf: leaf.detach().clone() if isinstance(leaf, mt.Tensor) else leaf, stated(state_dict)
    )
    writer = writer_of(storage_writer, checkpoint_id)
    executor = ThreadPoolExecutor(max_workers=1)
    future = executor.submit(
        save,
        copied,
        checkpoint_id=checkpoint_id,
        storage_writer=writer,
        planner=planner,
        process_group=process_group,
        no_dist=no_dist,
        use_collectives=use_collectives,
    )
    future.add_done_callback(lambda _: executor.shutdown(wait=False))
    return future


def save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: StorageWriter,
    process_group: Any | None = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
) -> Metadata:
    """`save` by its older name. Another coordinator than rank 0 is refused."""
    if coordinator_rank != 0:
        raise NotImplementedError("a checkpoint is coordinated by rank 0 alone")
    return save(
        state_dict, storage_writer=storage_writer, process_group=process_group, no_dist=no_dist, planner=planner
    )
