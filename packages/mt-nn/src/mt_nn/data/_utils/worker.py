"""A worker process of a data loader."""

import multiprocessing
import queue
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

import mt_core as mt

from . import pipes, transport
from .exception_wrapper import ExceptionWrapper

__all__ = ["WorkerInfo", "get_worker_info"]

#: How often an idle worker looks whether its parent still lives, in seconds.
STATUS_CHECK_INTERVAL = 5.0


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker of a loader this process is.

    Attributes
    ----------
    id, num_workers
        Its number, counted from 0, and how many there are.
    seed
        What its random generators were started from.
    dataset
        Its copy of the dataset.
    rng
        Generators of its own, for workers that share a process with others; None in a process of its own.
    worker_method
        ``"multiprocessing"``.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """What is known about the worker that this process is; None in the main process."""
    return _worker_info


@dataclass(frozen=True)
class WorkerTask:
    """What a worker is started with; the loader's options under their own names."""

    fetcher: type
    dataset: Any
    auto_collation: bool
    collate_fn: Any
    drop_last: bool
    base_seed: int
    init_fn: Any
    worker_id: int
    num_workers: int
    #: What pipes that draw numbers start from, the same in every worker; None for other datasets.
    shared_seed: int | None

    @property
    def where(self) -> str:
        return f"in DataLoader worker process {self.worker_id}"

    def new_fetcher(self) -> Any:
        return self.fetcher(self.dataset, self.auto_collation, self.collate_fn, self.drop_last)


@dataclass(frozen=True)
class Resume:
    """Asks a worker to begin a new epoch; the worker sends it back when it has."""

    shared_seed: int | None


@dataclass(frozen=True)
class StreamEnded:
    """Sent in place of a batch by a worker whose iterable dataset has no more."""

    worker_id: int


def worker_loop(task: WorkerTask, indices: Any, results: Any, stopping: Any) -> None:
    """Fetch batches until told to stop, or the parent is gone.

    Parameters
    ----------
    indices
        Queue of ``(number, index)``, of `Resume`, and of None for the end.
    results
        Connection for ``(number, batch)``, where a `StreamEnded` or an `ExceptionWrapper` may stand for the batch.
    stopping
        Event: what has been asked for is not wanted any more.
    """
    try:
        _seed_generators(task)
        _serve(task, indices, results, stopping)
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        pass  # the parent is interrupted too, or has no more use for this worker
    finally:
        results.close()
        indices.cancel_join_thread()
        indices.close()


def _seed_generators(task: WorkerTask) -> None:
    global _worker_info
    seed = task.base_seed + task.worker_id
    random.seed(seed)
    mt.manual_seed(seed)
    np.random.seed(_generate_state(task.base_seed, task.worker_id))
    _worker_info = WorkerInfo(task.worker_id, task.num_workers, seed, task.dataset)


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """The seed of NumPy's generator in a worker: four 32-bit words."""
    low, high = base_seed & 0xFFFFFFFF, base_seed >> 32
    return np.random.SeedSequence([worker_id, low, high]).generate_state(4).tolist()


def _serve(task: WorkerTask, indices: Any, results: Any, stopping: Any) -> None:
    fetcher: Any = _started(task)
    ended = False
    while (request := _next_request(indices)) is not None:
        if isinstance(request, Resume):
            if request.shared_seed is not None:
                pipes.apply_seed(task.dataset, request.shared_seed)
            fetcher, ended = task.new_fetcher(), False
            transport.send(results, (request, None))
            continue
        if ended or stopping.is_set():
            continue  # asked for before the parent knew, or changed its mind
        number, index = request
        batch = fetcher if isinstance(fetcher, ExceptionWrapper) else _fetch(task, fetcher, index)
        ended = isinstance(batch, StreamEnded)
        _send(task, results, number, batch)
        del batch  # an idle worker holds no batch


def _started(task: WorkerTask) -> Any:
    """The fetcher; or what went wrong before there was one, to be sent in place of every batch."""
    try:
        if task.shared_seed is not None:
            pipes.apply_seed(task.dataset, task.shared_seed)
            pipes.shard(task.dataset, task.num_workers, task.worker_id)
        if task.init_fn is not None:
            task.init_fn(task.worker_id)
        return task.new_fetcher()
    except Exception as error:  # noqa: BLE001 - raised again in the main process
        return ExceptionWrapper(error, task.where)


def _next_request(indices: Any) -> Any:
    parent = multiprocessing.parent_process()
    while parent is None or parent.is_alive():
        try:
            return indices.get(timeout=STATUS_CHECK_INTERVAL)
        except queue.Empty:
            continue
    return None


def _fetch(task: WorkerTask, fetcher: Any, index: Any) -> Any:
    try:
        return fetcher.fetch(index)
    except StopIteration as error:
        if hasattr(fetcher, "dataset_iter"):
            return StreamEnded(task.worker_id)
        return ExceptionWrapper(error, task.where)
    except Exception as error:  # noqa: BLE001 - raised again in the main process
        return ExceptionWrapper(error, task.where)


def _send(task: WorkerTask, results: Any, number: int, batch: Any) -> None:
    try:
        transport.send(results, (number, batch))
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:  # noqa: BLE001 - a batch that cannot be pickled; raised again in the main process
        transport.send(results, (number, ExceptionWrapper(error, task.where)))
