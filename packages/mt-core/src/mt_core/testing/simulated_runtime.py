"""A complete device runtime on the host: streams that put work off, a caching allocator, pinned memory, graphs.

It is the worst device that the rules allow. A stream does nothing until somebody must wait for it, so a program that
forgets to order two streams reads what is not there yet; the allocator hands freed memory out again at once, so a
program that forgets `record_stream` overwrites what is still to be read. Time is counted, not measured: a task takes as
long as it says, and nothing depends on the machine.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import dtypes
from ..plugins.runtime_access import OutOfMemoryError

__all__ = ["Block", "SimulatedRuntime"]

Task = Callable[[], None]

#: Milliseconds of simulated time that a task takes.
TASK_TIME = 1.0
#: Blocks are handed out in multiples of this many bytes.
GRAIN = 512


class Queue:
    """Follows `StreamHandle`: tasks are done in order, and only when `run` is called."""

    def __init__(self, id: int, device_index: int, priority: int, native: int) -> None:
        self.id = id
        self.device_index = device_index
        self.priority = priority
        self.native = native
        self.given = self.done = 0
        #: Simulated time at which the last task was done.
        self.clock = 0.0
        #: The graph that records what the queue is given, or None.
        self.graph: Graph | None = None
        self._tasks: deque[tuple[Task, float]] = deque()
        self._running = threading.RLock()

    def give(self, task: Task, time: float = TASK_TIME) -> None:
        """Put a task at the end, or into the graph that is being recorded."""
        if self.graph is not None:
            self.graph.tasks.append((task, time))
            return
        self._tasks.append((task, time))
        self.given += 1

    def run(self, until: int | None = None) -> None:
        """Do tasks until `until` of those ever given are done; by default all."""
        self.check_waiting()
        with self._running, np.errstate(all="ignore"):
            goal = self.given if until is None else until
            while self.done < goal:
                task, time = self._tasks.popleft()
                task()
                self.clock += time
                self.done += 1

    def check_waiting(self) -> None:
        """Refuse to wait while recording: what is recorded is not done."""
        if self.graph is not None:
            raise RuntimeError("operation not permitted when stream is capturing")

    def query(self) -> bool:
        """Whether all is done; if not, the device does one task more, so that a program which polls gets on."""
        finished = self.done == self.given
        if not finished:
            self.run(self.done + 1)
        return finished

    def synchronize(self) -> None:
        self.run()

    def wait(self, event: Mark) -> None:
        queue, position = event.queue, event.position
        if queue is not None:
            self.give(lambda: self._follow(queue, position), 0.0)

    def _follow(self, queue: Queue, position: int) -> None:
        queue.run(position)
        self.clock = max(self.clock, queue.clock)


class Mark:
    """Follows `EventHandle`: a position in a queue."""

    def __init__(self, device_index: int, timing: bool, native: int) -> None:
        self.device_index = device_index
        self.timing = timing
        self.native = native
        self.queue: Queue | None = None
        self.position = 0
        self.time = 0.0

    def record(self, stream: Queue) -> None:
        stream.give(lambda: setattr(self, "time", stream.clock), 0.0)
        self.queue, self.position = stream, stream.given

    def query(self) -> bool:
        if self.queue is None or self.queue.done >= self.position:
            return True
        self.queue.query()
        return False

    def synchronize(self) -> None:
        if self.queue is not None:
            self.queue.run(self.position)

    def elapsed(self, end: Mark) -> float:
        for mark in (self, end):
            if mark.queue is None or mark.queue.done < mark.position:
                raise RuntimeError("the event has not been reached: synchronize it first")
        return end.time - self.time


class Block:
    """Device memory of an array and its views. When the last of them is gone, the memory may be handed out again."""

    def __init__(self, device_index: int, nbytes: int, memory: np.ndarray) -> None:
        self.device_index = device_index
        self.nbytes = nbytes
        self.memory = memory
        #: Streams that use the memory besides the one that it was allocated on.
        self.users: set[Queue] = set()

    @property
    def flat(self) -> np.ndarray:
        """All bytes that were asked for."""
        return self.memory[: self.nbytes]


class Graph:
    """Follows `GraphHandle`: tasks that were recorded, and the memory that they use."""

    def __init__(self, runtime: SimulatedRuntime, pool: Any) -> None:
        self._runtime = runtime
        self.pool = pool
        self.tasks: list[tuple[Task, float]] = []
        #: Memory allocated while recording is not handed out again before the graph is reset.
        self.blocks: list[Block] = []
        self._queue: Queue | None = None

    def capture_begin(self, pool: Any, mode: str) -> None:
        if mode not in ("global", "thread_local", "relaxed"):
            raise RuntimeError(
                f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got {mode}"
            )
        self.pool = self.pool if pool is None else pool
        queue = self._runtime.current_stream(self._runtime.current_device())
        if queue.id == 0:
            raise RuntimeError("graphs must be captured on a non-default stream")
        queue.check_waiting()
        self._queue, queue.graph = queue, self

    def capture_end(self) -> None:
        if self._queue is None:
            raise RuntimeError("capture_end without capture_begin")
        self._queue.graph, self._queue = None, None

    def replay(self) -> None:
        queue = self._runtime.current_stream(self._runtime.current_device())
        for task, time in self.tasks:
            queue.give(task, time)

    def reset(self) -> None:
        self.tasks.clear()
        self.blocks.clear()


class _Current(threading.local):
    """What a thread has made current."""

    def __init__(self) -> None:
        self.device = 0
        self.streams: dict[int, Queue] = {}


class Counters:
    """A device's figures, and the memory that its allocator keeps."""

    def __init__(self) -> None:
        whens = ("current", "peak", "allocated", "freed")
        self.figures = {f"{what}_bytes.all.{when}": 0 for what in ("allocated", "reserved") for when in whens}
        #: (bytes, stream id) -> memory that is free at once.
        self.free: dict[tuple[int, int], list[np.ndarray]] = {}
        #: Memory that is free when positions of streams are reached.
        self.later: list[tuple[tuple[int, int], np.ndarray, list[tuple[Queue, int]]]] = []
        self.fraction = 1.0

    def add(self, what: str, nbytes: int) -> None:
        """Count bytes that were taken, or given back if negative."""
        figures, current, peak = self.figures, f"{what}_bytes.all.current", f"{what}_bytes.all.peak"
        figures[current] += nbytes
        figures[peak] = max(figures[peak], figures[current])
        figures[f"{what}_bytes.all.{'allocated' if nbytes > 0 else 'freed'}"] += abs(nbytes)


class SimulatedRuntime:
    """Follows `mt_core.plugins.runtime.DeviceRuntime`, but for its part "generators": numbers are drawn on the host.

    Parameters
    ----------
    devices
        How many there are.
    total_memory
        Bytes of each one's memory.
    """

    def __init__(self, devices: int = 2, total_memory: int = 1 << 24) -> None:
        self.total_memory = total_memory
        self.devices = devices
        self._current = _Current()
        self._lock = threading.RLock()
        self._numbers = itertools.count(1)
        self._defaults = [Queue(0, index, 0, 1 + index) for index in range(devices)]
        self._queues = {queue.native: queue for queue in self._defaults}
        self._counters = [Counters() for _ in range(devices)]

    def start_afresh(self) -> None:
        """Do all work, forget what the allocator keeps, and make the first device and default streams current."""
        for index in range(self.devices):
            self.synchronize(index)
        self._current.device = 0
        self._current.streams.clear()
        self.empty_cache()
        for index, counters in enumerate(self._counters):
            counters.fraction = 1.0
            self.reset_peak_memory_stats(index)
            self.reset_accumulated_memory_stats(index)

    # Device control

    def current_device(self) -> int:
        return self._current.device

    def set_device(self, index: int) -> None:
        self._current.device = index

    def synchronize(self, index: int) -> None:
        for queue in [queue for queue in self._queues.values() if queue.device_index == index]:
            queue.run()

    def properties(self, index: int) -> SimpleNamespace:
        return SimpleNamespace(name=f"Simulated device {index}", total_memory=self.total_memory, major=1, minor=index)

    def capability(self, index: int) -> tuple[int, int]:
        return 1, index

    def supported_dtypes(self, index: int) -> tuple[Any, ...]:
        return (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.bool)

    def can_access_peer(self, index: int, peer: int) -> bool:
        return index != peer

    # Streams

    def stream(self, index: int, priority: int) -> Queue:
        number = next(self._numbers)
        queue = Queue(number, index, priority, self.devices + number)
        self._queues[queue.native] = queue
        return queue

    def external_stream(self, native: int, index: int) -> Queue:
        queue = self._queues.get(native)
        if queue is None or queue.device_index != index:
            raise RuntimeError(f"device {index} has no stream at address {native:#x}")
        return queue

    def default_stream(self, index: int) -> Queue:
        return self._defaults[index]

    def current_stream(self, index: int) -> Queue:
        return self._current.streams.get(index, self._defaults[index])

    def set_stream(self, stream: Queue) -> None:
        self._current.streams[stream.device_index] = stream

    def event(self, index: int, timing: bool, blocking: bool, interprocess: bool) -> Mark:
        if interprocess:
            raise NotImplementedError("simulated devices have no events for several processes")
        return Mark(index, timing, next(self._numbers))

    def record_stream(self, array: Any, stream: Queue) -> None:
        array.block.users.add(stream)

    # Memory

    def allocate(self, nbytes: int, index: int) -> Block:
        """Memory for an array, on the current stream of a device.

        Raises
        ------
        OutOfMemoryError
            When the device, or the part of it that the process may use, has no more.
        """
        queue, counters = self.current_stream(index), self._counters[index]
        key = (-(-nbytes // GRAIN) * GRAIN, queue.id)
        with self._lock:
            self._take_back(counters)
            kept = counters.free.get(key)
            memory = kept.pop() if kept else self._reserve(key[0], index)
            counters.add("allocated", key[0])
        block = Block(index, nbytes, memory)
        weakref.finalize(block, self._release, key, memory, index, block.users).atexit = False
        if queue.graph is not None:
            queue.graph.blocks.append(block)
        return block

    def _reserve(self, nbytes: int, index: int) -> np.ndarray:
        counters = self._counters[index]
        limit = int(self.total_memory * counters.fraction)
        if counters.figures["reserved_bytes.all.current"] + nbytes > limit:
            raise OutOfMemoryError(
                f"out of memory. Tried to allocate {nbytes} bytes. Device {index} has a total capacity of "
                f"{self.total_memory} bytes, of which this process may use {limit}"
            )
        counters.add("reserved", nbytes)
        return np.zeros(nbytes, np.uint8)

    def _release(self, key: tuple[int, int], memory: np.ndarray, index: int, users: set[Queue]) -> None:
        with self._lock:
            counters = self._counters[index]
            counters.add("allocated", -key[0])
            if users:
                counters.later.append((key, memory, [(queue, queue.given) for queue in users]))
            else:
                counters.free.setdefault(key, []).append(memory)

    def _take_back(self, counters: Counters) -> None:
        waiting = counters.later
        counters.later = []
        for key, memory, marks in waiting:
            if all(queue.done >= position for queue, position in marks):
                counters.free.setdefault(key, []).append(memory)
            else:
                counters.later.append((key, memory, marks))

    def memory_stats(self, index: int) -> dict[str, int]:
        return dict(self._counters[index].figures)

    def memory_info(self, index: int) -> tuple[int, int]:
        reserved = self._counters[index].figures["reserved_bytes.all.current"]
        return self.total_memory - reserved, self.total_memory

    def empty_cache(self) -> None:
        with self._lock:
            for counters in self._counters:
                for (nbytes, _), memories in counters.free.items():
                    counters.add("reserved", -nbytes * len(memories))
                counters.free.clear()

    def reset_peak_memory_stats(self, index: int) -> None:
        figures = self._counters[index].figures
        for name in figures:
            if name.endswith(".peak"):
                figures[name] = figures[name.removesuffix("peak") + "current"]

    def reset_accumulated_memory_stats(self, index: int) -> None:
        figures = self._counters[index].figures
        for name in figures:
            if name.endswith((".allocated", ".freed")):
                figures[name] = 0

    def memory_fraction(self, index: int) -> float:
        return self._counters[index].fraction

    def set_memory_fraction(self, fraction: float, index: int) -> None:
        self._counters[index].fraction = fraction

    # Pinned memory

    def pin(self, nbytes: int) -> np.ndarray:
        memory = _PinnedBytes((nbytes,), np.uint8)
        memory[...] = 0
        return memory

    def is_pinned(self, array: np.ndarray) -> bool:
        whole: Any = array
        while whole is not None and not isinstance(whole, _PinnedBytes):
            whole = getattr(whole, "base", None)
        return whole is not None

    def copy_from_host(self, target: Any, source: np.ndarray) -> None:
        memory = target.host
        self.current_stream(target.block.device_index).give(lambda: np.copyto(memory, source))

    def copy_to_host(self, target: np.ndarray, source: Any) -> None:
        memory = source.host
        self.current_stream(source.block.device_index).give(lambda: np.copyto(target, memory))

    # Graphs

    def graph(self) -> Graph:
        return Graph(self, self.graph_pool())

    def graph_pool(self) -> tuple[int, int]:
        return 0, next(self._numbers)

    def is_capturing(self, stream: Queue) -> bool:
        return stream.graph is not None


class _PinnedBytes(np.ndarray):
    """Marks memory as page-locked, for arrays on it."""
