"""A library of collectives among threads of one process: what is built on collectives is tested fast with it.

Results are written when a request is asked whether it is done, and not before: whoever reads them without waiting reads
what was there.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..contract import Communicator, Request

__all__ = ["Hub", "ThreadCommunicator"]

_REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": np.add,
    "product": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
    "bxor": np.bitwise_xor,
}


class _Meeting:
    """One collective: what each member brought, and how many have yet to come."""

    def __init__(self, size: int) -> None:
        self.brought: list[Any] = [None] * size
        self.kinds: list[Any] = [None] * size
        self.missing = size


class Hub:
    """What the communicators of one group share.

    Parameters
    ----------
    size
        How many members the group has.
    failed
        Set when one of the threads has failed: no one waits for it then.
    """

    def __init__(self, size: int, failed: threading.Event | None = None) -> None:
        self.size = size
        self.failed = threading.Event() if failed is None else failed
        self.lock = threading.Lock()
        self.meetings: dict[Any, _Meeting] = {}
        self.messages: dict[Any, list[Any]] = {}
        self.hubs: dict[str, Hub] = {}

    def meet(self, number: int, rank: int, kind: Any, what: Any) -> _Meeting:
        """Come to the collective of that number."""
        with self.lock:
            meeting = self.meetings.setdefault(number, _Meeting(self.size))
            meeting.brought[rank], meeting.kinds[rank] = what, kind
            meeting.missing -= 1
            if meeting.missing == 0:
                del self.meetings[number]
        return meeting


class _Collective:
    def __init__(self, meeting: _Meeting, finish: Callable[[list[Any]], None], hub: Hub) -> None:
        self._meeting, self._finish, self._hub, self._is_done = meeting, finish, hub, False

    def test(self) -> bool:
        if self._is_done:
            return True
        if self._meeting.missing:
            if self._hub.failed.is_set():
                raise RuntimeError("another thread of the group has failed")
            return False
        self._is_done = True
        kinds = self._meeting.kinds
        if any(kind != kinds[0] for kind in kinds):
            self._hub.failed.set()
            raise RuntimeError(f"the members of the group do not begin one collective: {kinds}")
        self._finish(self._meeting.brought)
        return True


class _Receipt:
    def __init__(self, hub: Hub, key: tuple[int, int, int], sources: Sequence[int], array: Any) -> None:
        self._hub, self._key, self._sources, self._array = hub, key, sources, array
        self.source: int | None = None

    def test(self) -> bool:
        if self.source is not None:
            return True
        _, to, tag = self._key
        with self._hub.lock:
            for source in self._sources:
                waiting = self._hub.messages.get((source, to, tag))
                if waiting:
                    self._array[...] = waiting.pop(0).reshape(self._array.shape)
                    self.source = source
                    return True
        if self._hub.failed.is_set():
            raise RuntimeError("another thread of the group has failed")
        return False


class _Sent:
    def test(self) -> bool:
        return True


class ThreadCommunicator(Communicator):
    """One thread's part in a group.

    Parameters
    ----------
    hub
        What the members share.
    rank
        Which of them this is.
    """

    def __init__(self, hub: Hub, rank: int) -> None:
        self.hub, self.rank, self.size = hub, rank, hub.size
        self._count = 0
        #: The names of the operations that were begun, for tests to look at.
        self.begun: list[str] = []

    def _begin(self, name: str, kind: Any, array: Any, finish: Callable[[list[Any]], None]) -> Request:
        self.begun.append(name)
        self._count += 1
        brought = None if array is None else array.copy()
        return _Collective(self.hub.meet(self._count, self.rank, (name, kind), brought), finish, self.hub)

    def all_reduce(self, array: Any, op: str) -> Request:
        return self._begin(
            "all_reduce", (op, array.size, array.dtype), array, lambda all: _put(array, _reduced(all, op))
        )

    def reduce(self, array: Any, root: int, op: str) -> Request:
        def finish(all: list[Any]) -> None:
            if self.rank == root:
                _put(array, _reduced(all, op))

        return self._begin("reduce", (op, root, array.size, array.dtype), array, finish)

    def broadcast(self, array: Any, root: int) -> Request:
        return self._begin("broadcast", (root, array.size, array.dtype), array, lambda all: _put(array, all[root]))

    def all_gather(self, output: Any, array: Any) -> Request:
        return self._begin("all_gather", (array.size, array.dtype), array, lambda all: _put(output, _joined(all)))

    def gather(self, output: Any | None, array: Any, root: int) -> Request:
        def finish(all: list[Any]) -> None:
            if self.rank == root:
                _put(output, _joined(all))

        return self._begin("gather", (root, array.size, array.dtype), array, finish)

    def scatter(self, output: Any, array: Any | None, root: int) -> Request:
        def finish(all: list[Any]) -> None:
            _put(output, all[root].reshape(self.size, -1)[self.rank])

        return self._begin("scatter", (root, output.size, output.dtype), array, finish)

    def reduce_scatter(self, output: Any, array: Any, op: str) -> Request:
        def finish(all: list[Any]) -> None:
            _put(output, _reduced(all, op).reshape(self.size, -1)[self.rank])

        return self._begin("reduce_scatter", (op, output.size, output.dtype), array, finish)

    def all_to_all(self, output: Any, array: Any, output_counts: Sequence[int], input_counts: Sequence[int]) -> Request:
        own = array.copy().reshape(-1)
        starts = np.cumsum([0, *input_counts])
        parts = [own[start : start + count] for start, count in zip(starts, input_counts, strict=False)]

        def finish(all: list[Any]) -> None:
            _put(output, _joined([other[self.rank] for other in all]))

        self.begun.append("all_to_all")
        self._count += 1
        return _Collective(self.hub.meet(self._count, self.rank, ("all_to_all", array.dtype), parts), finish, self.hub)

    def send(self, array: Any, to: int, tag: int) -> Request:
        self.begun.append("send")
        with self.hub.lock:
            self.hub.messages.setdefault((self.rank, to, tag), []).append(array.copy())
        return _Sent()

    def receive(self, array: Any, source: int | None, tag: int) -> Request:
        self.begun.append("receive")
        sources = range(self.size) if source is None else [source]
        return _Receipt(self.hub, (0, self.rank, tag), sources, array)

    def barrier(self) -> Request:
        return self._begin("barrier", (), None, lambda all: None)

    def split(self, ranks: Sequence[int], name: str, check: Callable[[], None]) -> ThreadCommunicator:
        with self.hub.lock:
            hub = self.hub.hubs.setdefault(f"{name} {tuple(ranks)}", Hub(len(ranks), self.hub.failed))
        return ThreadCommunicator(hub, list(ranks).index(self.rank))

    def abort(self) -> None:
        self.hub.failed.set()


def _reduced(brought: Sequence[Any], op: str) -> Any:
    return functools.reduce(_REDUCTIONS[op], brought)


def _joined(brought: Sequence[Any]) -> Any:
    return np.concatenate([array.reshape(-1) for array in brought])


def _put(output: Any, array: Any) -> None:
    output[...] = array.reshape(output.shape)
