"""The worker processes of one loader, seen from the process that uses their batches."""

import itertools
import multiprocessing
import os
import signal
import time
import weakref
from collections.abc import Iterator
from multiprocessing import connection
from typing import Any

from ._utils import transport
from ._utils.exception_wrapper import ExceptionWrapper
from ._utils.worker import Resume, StreamEnded, WorkerTask, worker_loop

__all__ = ["WorkerPool"]

#: How long a worker that was told to stop may take, in seconds, before it is terminated.
_SECONDS_TO_STOP = 5.0
_OUT_OF_MEMORY = (
    "It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit."
)


class _Worker:
    """A worker process, the queue of what it is asked for, and the connection on which it answers."""

    def __init__(self, context: Any, task: WorkerTask, stopping: Any) -> None:
        self.indices = context.Queue()
        self.results, theirs = context.Pipe(duplex=True)
        self.process = context.Process(target=worker_loop, args=(task, self.indices, theirs, stopping), daemon=True)
        self.process.start()
        self.pid = self.process.pid
        theirs.close()
        #: Whether its stream of samples goes on.
        self.active = True
        #: Whether it was told to stop.
        self.stopped = False
        #: Batches asked for and not yet handed out.
        self.outstanding = 0

    def ask(self, request: Any) -> None:
        self.indices.put(request)

    def stop(self) -> None:
        if not self.stopped:
            self.stopped = True
            self.ask(None)

    def close(self, deadline: float) -> None:
        """Wait for the end of the process, and end it where it does not come by itself."""
        self._drain(deadline)
        self.process.join(max(0.0, deadline - time.monotonic()))
        if self.process.exitcode is None:
            self.process.terminate()
            self.process.join()
        self.results.close()
        self.indices.cancel_join_thread()
        self.indices.close()
        self.process.close()

    def _drain(self, deadline: float) -> None:
        """Take what it still sends, lest it waits for ever for room in the pipe."""
        sources = [self.process.sentinel, self.results]
        while self.results in connection.wait(sources, max(0.0, deadline - time.monotonic())):
            try:
                transport.discard(self.results)
            except (EOFError, ConnectionResetError):
                return


def _shut_down(workers: list[_Worker], stopping: Any, owner: int) -> None:
    """End all workers; in a process that was forked later, nothing: they are not its own."""
    if os.getpid() != owner:
        return
    stopping.set()
    for worker in workers:
        worker.stop()
    deadline = time.monotonic() + _SECONDS_TO_STOP
    while workers:
        workers.pop().close(deadline)


class WorkerPool:
    """Asks workers for batches ahead, in turn, and hands the batches out in order.

    Batch ``n`` is fetched by the worker whose turn it is, so random numbers drawn in workers do not depend on their
    speed.

    Parameters
    ----------
    loader
        Whose options count.
    fetcher
        The class that fetches from its dataset.
    base_seed
        Worker ``i`` starts its generators from ``base_seed + i``.
    """

    def __init__(self, loader: Any, fetcher: type, base_seed: int, shared_seed: int | None) -> None:
        # None where the number of workers was set after the loader was made.
        self._ahead = 2 if loader.prefetch_factor is None else loader.prefetch_factor
        if self._ahead <= 0:
            raise AssertionError(f"prefetch_factor must be greater than 0, but got {self._ahead}")
        self._timeout = loader.timeout
        self._in_order = loader.in_order
        self._persistent = loader.persistent_workers
        context = loader.multiprocessing_context or multiprocessing.get_context()
        stopping = context.Event()
        self._workers: list[_Worker] = []
        self._shut_down = weakref.finalize(self, _shut_down, self._workers, stopping, os.getpid())
        for worker_id in range(loader.num_workers):
            task = WorkerTask(
                fetcher,
                loader.dataset,
                loader._auto_collation,
                loader.collate_fn,
                loader.drop_last,
                base_seed,
                loader.worker_init_fn,
                worker_id,
                loader.num_workers,
                shared_seed,
            )
            self._workers.append(_Worker(context, task, stopping))

    def begin(self, order: Iterator[Any]) -> None:
        """Start an epoch: ask for the first batches."""
        self._order = order
        self._turns = itertools.cycle(self._workers)
        self._asked: dict[int, _Worker] = {}
        self._arrived: dict[int, Any] = {}
        self._numbers = itertools.count()
        for worker in self._workers:
            worker.active, worker.outstanding = True, 0
        for _ in range(self._ahead * len(self._workers)):
            self._ask_for_next()

    def resume(self, shared_seed: int | None) -> None:
        """Have the workers that lived on begin a new epoch, and throw away what they still send of the last one."""
        for worker in self._workers:
            worker.ask(Resume(shared_seed))
        waiting = list(self._workers)
        while waiting:
            worker, (number, _) = self._receive(waiting)
            if isinstance(number, Resume):
                waiting.remove(worker)

    def next_batch(self) -> Any:
        """The next batch.

        Raises
        ------
        StopIteration
            After the last one.
        RuntimeError
            Where a worker died, or none answered in time. What a worker raised is raised here.
        """
        while True:
            batch = self._arrived_batch()
            if batch is not None:
                return self._opened(batch[0])
            if not self._asked:
                self._finish()
            worker, (number, content) = self._receive(self._running())
            if isinstance(content, StreamEnded):
                self._forget(worker)
                self._ask_for_next()
            elif number in self._asked:  # else the worker sent it before it knew that nobody waits for it
                self._arrived[number] = content

    def _arrived_batch(self) -> tuple[Any] | None:
        """The batch whose turn it is, taken from those that have arrived; in a tuple, for it may be anything."""
        number = next(iter(self._asked if self._in_order else self._arrived), None)
        if number is None or number not in self._arrived:
            return None
        self._asked.pop(number).outstanding -= 1
        return (self._arrived.pop(number),)

    def _opened(self, content: Any) -> Any:
        self._ask_for_next()
        if isinstance(content, ExceptionWrapper):
            content.reraise()
        return content

    def _finish(self) -> None:
        if not self._persistent:
            self._shut_down()
        raise StopIteration

    def _ask_for_next(self) -> None:
        worker = self._next_worker()
        if worker is None:
            return
        try:
            index = next(self._order)
        except StopIteration:
            return
        number = next(self._numbers)
        worker.ask((number, index))
        worker.outstanding += 1
        self._asked[number] = worker

    def _next_worker(self) -> _Worker | None:
        for worker in itertools.islice(self._turns, len(self._workers)):
            if worker.active and (self._in_order or worker.outstanding < self._ahead):
                return worker
        return None

    def _forget(self, worker: _Worker) -> None:
        """A worker's stream has ended: nothing more comes of what it was asked for."""
        worker.active = False
        self._asked = {n: w for n, w in self._asked.items() if w is not worker or n in self._arrived}
        if not self._persistent:
            worker.stop()

    def _running(self) -> list[_Worker]:
        return [worker for worker in self._workers if not worker.stopped]

    def _receive(self, workers: list[_Worker]) -> tuple[_Worker, Any]:
        """What the first of some workers to answer sends."""
        by_source = {worker.results: worker for worker in workers}
        ends = [worker.process.sentinel for worker in workers]
        ready = connection.wait([*by_source, *ends], self._timeout or None)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        for source in ready:
            if source in by_source:
                try:
                    return by_source[source], transport.receive(source)
                except (EOFError, ConnectionResetError):
                    break
        raise self._death(workers)

    def _death(self, workers: list[_Worker]) -> RuntimeError:
        """What to raise where workers have ended; its cause says how the first of them did."""
        # The connection may have been closed a moment before the end of the process.
        ended = connection.wait([worker.process.sentinel for worker in workers], _SECONDS_TO_STOP)
        dead = [worker for worker in workers if worker.process.sentinel in ended]
        error = RuntimeError(f"DataLoader worker (pid(s) {', '.join(str(w.pid) for w in dead)}) exited unexpectedly")
        error.__cause__ = next(filter(None, map(_end_of, dead)), None)
        return error


def _end_of(worker: _Worker) -> RuntimeError | None:
    """How a worker's process ended, in PyTorch's words; nothing of one that ended as if all were well."""
    worker.process.join(_SECONDS_TO_STOP)
    code = worker.process.exitcode
    if not code:
        return None
    if code > 0:
        return RuntimeError(
            f"DataLoader worker (pid {worker.pid}) exited unexpectedly with exit code {code}. Details are lost due to "
            "multiprocessing. Rerunning with num_workers=0 may give better error trace."
        )
    hint = _OUT_OF_MEMORY if -code == signal.SIGBUS else ""
    return RuntimeError(f"DataLoader worker (pid {worker.pid}) is killed by signal: {signal.strsignal(-code)}. {hint}")
