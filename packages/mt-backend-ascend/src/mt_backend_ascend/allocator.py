"""Device memory: segments of CANN's, kept and handed out in pieces.

A `Block` is a piece. It belongs to the stream that was current when it was taken: the next piece on the same memory is
taken on that stream, so what was given to it before goes first. When nothing refers to a block, its memory is handed
out again, not before the other streams that it was said to be used on (`Block.users`) have done what they were given
until then. Sizes follow PyTorch's caching allocator, which torch_npu's is too: pieces are multiples of 512 bytes, small
ones (up to 1 MiB) share segments of 2 MiB, larger ones segments of 20 MiB, from 10 MiB on each has its own.
"""

from __future__ import annotations

import bisect
import ctypes
import threading
from collections import deque

from mt_core.plugins.runtime_access import OutOfMemoryError

from .alloc_conf import AllocatorSettings
from .cann.errors import OUT_OF_MEMORY, AclError
from .driver import Driver
from .figures import Figures, in_words
from .graphs import GraphPool, Graphs
from .streams import EventHandle, Events, StreamHandle

__all__ = ["Allocator", "Block"]

GRAIN = 512
SMALL, LARGE = 1 << 20, 10 << 20
SMALL_SEGMENT, LARGE_SEGMENT, ROUND_LARGE = 2 << 20, 20 << 20, 2 << 20
#: Kernels may read so many bytes beyond the end of what they are given: aclrtMalloc adds them, "11-01 Device memory".
BEYOND = 32
#: ACL_MEM_MALLOC_HUGE_FIRST and ACL_HBM_MEM (acl/acl_rt.h).
HUGE_FIRST, HBM = 0, 1

#: Device, stream, whether of small pieces, and the graphs that alone are served from it.
Pool = tuple[int, int, bool, GraphPool | None]


class Piece:
    """A part of a segment, in use or idle; `before` and `after` are its neighbours."""

    __slots__ = ("address", "nbytes", "pool", "before", "after", "idle", "idle_since")

    def __init__(self, address: int, nbytes: int, pool: Pool) -> None:
        self.address, self.nbytes, self.pool = address, nbytes, pool
        self.before: Piece | None = None
        self.after: Piece | None = None
        self.idle = False
        self.idle_since = 0

    @property
    def is_segment(self) -> bool:
        return self.before is None and self.after is None


class Block:
    """Device memory of an array and its views; `users` are the streams that use it besides its own."""

    __slots__ = ("address", "nbytes", "device_index", "stream", "users", "_piece", "_allocator", "__weakref__")

    def __init__(
        self, allocator: Allocator, piece: Piece | None, nbytes: int, device_index: int, stream: StreamHandle
    ) -> None:
        self._allocator, self._piece = allocator, piece
        self.address = 0 if piece is None else piece.address
        self.nbytes = nbytes
        self.device_index = device_index
        self.stream = stream
        self.users: set[StreamHandle] = set()

    def __del__(self) -> None:
        if self._piece is not None:  # this may run anywhere: whoever takes or counts memory next deals with it
            self._allocator.dead.append((self._piece, self.users))


class Allocator:
    """Hands out memory of all devices."""

    def __init__(self, driver: Driver, events: Events, graphs: Graphs, settings: AllocatorSettings) -> None:
        self._driver = driver
        self._graphs = graphs
        self._events = events
        self._settings = settings
        self._malloc = driver.acl.first_of("allocate")
        self._lock = threading.RLock()
        #: Pieces that nothing refers to any more.
        self.dead: deque[tuple[Piece, set[StreamHandle]]] = deque()
        #: Pieces that streams may still use, and the events after which they do not.
        self._later: list[tuple[Piece, list[EventHandle]]] = []
        self._idle: dict[Pool, list[tuple[int, int, Piece]]] = {}
        #: Address of a segment -> its size and device.
        self._segments: dict[int, tuple[int, int]] = {}
        self._figures = [Figures() for _ in range(driver.count)]
        self._clock = 0
        #: Of each device, the share that the process may reserve.
        self.fractions = [1.0] * driver.count

    def figures(self, index: int) -> Figures:
        """The counts of a device, up to date."""
        with self._lock:
            self._bury()
        return self._figures[index]

    # Taking

    def allocate(self, nbytes: int, stream: StreamHandle) -> Block:
        """Uninitialized memory of a stream's device.

        Raises
        ------
        OutOfMemoryError
            When the device, or the part of it that the process may use, has no more.
        """
        index = stream.device_index
        if not nbytes:
            return Block(self, None, 0, index, stream)
        wanted = -(-(nbytes + BEYOND) // GRAIN) * GRAIN
        recording = self._graphs.recording(stream)
        pool = (index, stream.native, wanted <= SMALL, None if recording is None else recording.pool)
        with self._lock:
            self._clock += 1
            self._bury()
            self._take_back()
            piece = self._idle_piece(wanted, pool) or self._reserved(wanted, pool, nbytes)
            self._split(piece, wanted)
            piece.idle = False
            self._figures[index].add("allocated", piece.nbytes)
            self._figures[index].add("active", piece.nbytes)
        return Block(self, piece, nbytes, index, stream)

    def _idle_piece(self, wanted: int, pool: Pool) -> Piece | None:
        """The smallest idle piece that is large enough."""
        idle = self._idle.get(pool, [])
        at = bisect.bisect_left(idle, (wanted, 0))
        if at == len(idle):
            return None
        nbytes, largest = idle[at][0], self._settings.max_split_size
        if largest is not None and (
            (wanted < largest <= nbytes) or (wanted >= largest and nbytes >= wanted + LARGE_SEGMENT)
        ):
            return None
        return idle.pop(at)[2]

    def _split(self, piece: Piece, wanted: int) -> None:
        """Leave what a piece has too much to others."""
        rest, small, largest = piece.nbytes - wanted, piece.pool[2], self._settings.max_split_size
        if rest < GRAIN if small else rest <= SMALL or (largest is not None and wanted >= largest):
            return
        other = Piece(piece.address + wanted, rest, piece.pool)
        other.before, other.after = piece, piece.after
        if piece.after is not None:
            piece.after.before = other
        piece.after, piece.nbytes = other, wanted
        self._put_by(other)

    def _put_by(self, piece: Piece) -> None:
        piece.idle, piece.idle_since = True, self._clock
        bisect.insort(self._idle.setdefault(piece.pool, []), (piece.nbytes, piece.address, piece))

    def _reserved(self, wanted: int, pool: Pool, nbytes: int) -> Piece:
        """A new segment; idle ones are given back where there is no room."""
        size = segment_size(wanted)
        index = pool[0]
        recorded = self._driver.recordings > 0  # nobody may wait: what is idle stays where it is
        if self._settings.garbage_collection_threshold and not recorded:
            self._collect_garbage(index)
        for attempt in range(1 if recorded else 2):
            address = self._from_device(size, index)
            if address:
                self._segments[address] = (size, index)
                self._figures[index].add("reserved", size)
                return Piece(address, size, pool)
            if not attempt and not recorded:
                self._figures[index].retries += 1
                self._wait_for_later(index)
                self._give_back(index)
        self._figures[index].refusals += 1
        raise OutOfMemoryError(self._refusal(nbytes, index))

    def _from_device(self, size: int, index: int) -> int:
        """The address of a segment; 0 where the device, or the process's part of it, has no room."""
        fraction = self.fractions[index]
        if fraction < 1.0 and self._figures[index].current("reserved") + size > fraction * self.memory_info(index)[1]:
            return 0
        self._driver.bind(index)
        malloc = self._driver.acl.raw(self._malloc)
        try:
            return self._driver.acl.handle(lambda place: malloc(place, size, HUGE_FIRST), self._malloc)
        except AclError as error:
            if error.code in OUT_OF_MEMORY:
                return 0
            raise

    def memory_info(self, index: int) -> tuple[int, int]:
        """(free, total) bytes of a device."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._driver.bind(index)
        self._driver.call("aclrtGetMemInfo", HBM, ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def _refusal(self, nbytes: int, index: int) -> str:
        """torch_npu's words."""
        free, total = self.memory_info(index)
        figures = self._figures[index]
        return (
            f"NPU out of memory. Tried to allocate {in_words(nbytes)} (NPU {index}; {in_words(total)} total capacity; "
            f"{in_words(figures.current('allocated'))} already allocated; {in_words(figures.current('active'))} "
            f"current active; {in_words(free)} free; {in_words(figures.current('reserved'))} reserved in total by "
            "PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation."
        )

    # Taking back

    def _bury(self) -> None:
        """Let go of pieces that nothing refers to; those that other streams use wait for these."""
        put_off = []
        while self.dead:
            piece, users = self.dead.popleft()
            if users and self._driver.recordings:  # a mark would be recorded, too
                put_off.append((piece, users))
                continue
            self._figures[piece.pool[0]].add("allocated", -piece.nbytes)
            if users:
                self._later.append((piece, [self._mark(stream) for stream in users]))
            else:
                self._made_idle(piece)
        self.dead.extend(put_off)

    def _mark(self, stream: StreamHandle) -> EventHandle:
        event = self._events.new(stream.device_index, False)
        event.record(stream)
        return event

    def _take_back(self) -> None:
        if self._driver.recordings:
            return
        waiting, self._later = self._later, []
        for piece, marks in waiting:
            if all(mark.query() for mark in marks):
                self._made_idle(piece)
            else:
                self._later.append((piece, marks))

    def _wait_for_later(self, index: int) -> None:
        for piece, marks in self._later:
            if piece.pool[0] == index:
                for mark in marks:
                    mark.synchronize()
        self._take_back()

    def _made_idle(self, piece: Piece) -> None:
        """Join an idle piece with idle neighbours."""
        self._figures[piece.pool[0]].add("active", -piece.nbytes)
        before, after = piece.before, piece.after
        if after is not None and after.idle:
            self._forget(after)
            piece.nbytes += after.nbytes
            piece.after = after.after
            if after.after is not None:
                after.after.before = piece
        if before is not None and before.idle:
            self._forget(before)
            before.nbytes += piece.nbytes
            before.after = piece.after
            if piece.after is not None:
                piece.after.before = before
            piece = before
        self._put_by(piece)

    def _forget(self, piece: Piece) -> None:
        idle = self._idle[piece.pool]
        del idle[bisect.bisect_left(idle, (piece.nbytes, piece.address))]
        piece.idle = False

    # Giving back

    def empty_cache(self) -> None:
        """Give idle segments of all devices back.

        Raises
        ------
        RuntimeError
            While a graph is recorded.
        """
        if self._driver.recordings:
            raise RuntimeError("NPU error: memory cannot be given back while a graph is recorded")
        self._graphs.sweep()
        with self._lock:
            self._bury()
            self._take_back()
            for index in range(len(self._figures)):
                if self._figures[index].current("reserved"):
                    self._wait_for_later(index)
                    self._give_back(index)

    def _give_back(self, index: int) -> None:
        """Free a device's idle segments. Streams may still use what was on them: the device is waited for."""
        segments = self._idle_segments(index)
        if segments:
            self._driver.bind(index)
            self._driver.call("aclrtSynchronizeDevice")
        for piece in segments:
            self._free(piece)

    def _idle_segments(self, index: int) -> list[Piece]:
        """Whole segments of a device that nobody uses; those of living graphs are in use."""
        return [
            piece
            for pool, idle in self._idle.items()
            if pool[0] == index and (pool[3] is None or not pool[3].graphs)
            for _, _, piece in idle
            if piece.is_segment
        ]

    def _free(self, piece: Piece) -> None:
        self._forget(piece)
        index = piece.pool[0]
        self._driver.bind(index)
        self._driver.call("aclrtFree", piece.address)
        self._figures[index].add("reserved", -self._segments.pop(piece.address)[0])

    def _collect_garbage(self, index: int) -> None:
        """Free idle segments, the longest idle first, while more than the threshold of the memory is reserved."""
        limit = self._settings.garbage_collection_threshold * self.fractions[index] * self.memory_info(index)[1]
        segments = self._idle_segments(index)
        for piece in sorted(segments, key=lambda p: p.idle_since):
            if self._figures[index].current("reserved") <= limit:
                return
            self._driver.bind(index)
            self._driver.call("aclrtSynchronizeStream", piece.pool[1])
            self._free(piece)

    def close(self) -> None:
        """Free all segments, also those in use: the process ends, and the devices are idle."""
        with self._lock:
            self._later.clear()
            self._idle.clear()
            for address, (_, index) in self._segments.items():
                self._driver.bind(index)
                self._driver.call("aclrtFree", address)
            self._segments.clear()


def segment_size(wanted: int) -> int:
    """The size of the segment that is reserved for a piece."""
    if wanted <= SMALL:
        return SMALL_SEGMENT
    return LARGE_SEGMENT if wanted < LARGE else -(-wanted // ROUND_LARGE) * ROUND_LARGE
