"""Streams and events of the device runtime, over CANN's."""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from .driver import Driver

if TYPE_CHECKING:
    from .graphs import Recording

__all__ = ["DEFAULT_FLAGS", "EventHandle", "Events", "StreamHandle", "Streams"]

#: ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC (acl/acl_rt.h).
DEFAULT_FLAGS = 0x1 | 0x2
#: ACL_EVENT_SYNC (streams may wait for it), ACL_EVENT_CAPTURE_STREAM_PROGRESS, ACL_EVENT_TIME_LINE (acl/acl_rt.h).
SYNC, PROGRESS, TIME_LINE = 0x1, 0x2, 0x8
#: ACL_STREAM_STATUS_COMPLETE and ACL_EVENT_RECORDED_STATUS_COMPLETE (acl/acl_rt.h).
STREAM_COMPLETE, EVENT_COMPLETE = 0, 1
#: So many retired events are kept before those that nobody needs are looked for.
RETIRED = 256


class StreamHandle:
    """Follows `mt_core.plugins.runtime.StreamHandle`; `native` is the whole of CANN's ``aclrtStream``."""

    def __init__(self, streams: Streams, native: int, device_index: int, id: int, priority: int, owned: bool) -> None:
        self._streams = streams
        self._driver = streams.driver
        self.native = native
        self.device_index = device_index
        self.id = id
        self.priority = priority
        self._owned = owned

    def __del__(self) -> None:
        if self._owned:
            self._streams.idle[self.device_index].append(self.native)

    def query(self) -> bool:
        return self._streams.is_idle(self.native, self.device_index)

    def synchronize(self) -> None:
        self._driver.bind(self.device_index)
        self._driver.call("aclrtSynchronizeStream", self.native)

    def wait(self, event: EventHandle) -> None:
        if event.recorded:
            self._driver.bind(self.device_index)
            self._driver.call("aclrtStreamWaitEvent", self.native, event.native)
            event.waiters.add((self.native, self.device_index))


class Streams:
    """The streams of all devices, and which of them threads have made current.

    A stream that nobody refers to any more is handed out again, as the next new one: its earlier work goes first.
    """

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.idle: list[deque[int]] = [deque() for _ in range(driver.count)]
        self._made: list[list[int]] = [[] for _ in range(driver.count)]
        self._defaults: dict[int, StreamHandle] = {}
        self._numbers = 0
        self._thread = threading.local()
        self._lock = threading.Lock()

    def _native(self, index: int) -> int:
        self.driver.bind(index)
        acl = self.driver.acl
        create = acl.raw("aclrtCreateStreamWithConfig")
        made = acl.handle(lambda place: create(place, 0, DEFAULT_FLAGS), "aclrtCreateStreamWithConfig")
        self._made[index].append(made)
        return made

    def new(self, index: int, priority: int) -> StreamHandle:
        """A stream of a device."""
        with self._lock:
            # An idle stream may belong to what is recorded; a new one does not.
            idle = self.idle[index] and not self.driver.recordings
            native = self.idle[index].popleft() if idle else self._native(index)
            self._numbers += 1
            return StreamHandle(self, native, index, self._numbers, priority, True)

    def external(self, native: int, index: int) -> StreamHandle:
        """Another library's; 0 is the default stream."""
        return StreamHandle(self, native, index, native, 0, False) if native else self.default(index)

    def default(self, index: int) -> StreamHandle:
        """The stream for programs that set none."""
        found = self._defaults.get(index)
        if found is None:
            with self._lock:
                found = self._defaults.get(index)
                if found is None:
                    found = self._defaults[index] = StreamHandle(self, self._native(index), index, 0, 0, False)
        return found

    def current(self, index: int) -> StreamHandle:
        """The calling thread's."""
        found: StreamHandle | None = getattr(self._thread, "current", {}).get(index)
        return self.default(index) if found is None else found

    def set_current(self, stream: StreamHandle) -> None:
        """Make a stream the calling thread's on its device."""
        if not hasattr(self._thread, "current"):
            self._thread.current = {}
        self._thread.current[stream.device_index] = stream

    def is_idle(self, native: int, index: int) -> bool:
        """Whether all work of a stream is done."""
        self.driver.bind(index)
        status = self.driver.acl.asked("aclrtStreamQuery", ctypes.c_int32, before=(native,))
        return bool(status == STREAM_COMPLETE)

    def close(self) -> None:
        """Destroy all streams; their work is done."""
        for index, natives in enumerate(self._made):
            for native in natives:
                self.driver.bind(index)
                self.driver.call("aclrtDestroyStream", native)
            natives.clear()


class EventHandle:
    """Follows `mt_core.plugins.runtime.EventHandle`."""

    def __init__(self, events: Events, native: int, device_index: int) -> None:
        self._events = events
        self._driver = events.driver
        self.native = native
        self.device_index = device_index
        self.recorded = False
        #: The recording of a graph that it was recorded into last, which alone knows when it happens.
        self.recording: Recording | None = None
        #: (stream, device) that wait for it: until they have, it may not be destroyed.
        self.waiters: set[tuple[int, int]] = set()

    def __del__(self) -> None:
        # Graphs keep the events that were recorded into them: nothing waits for this one any more.
        of_graph = self.recording is not None
        waiters = set() if of_graph else self.waiters
        self._events.retired.append((self.native, self.device_index, self.recorded and not of_graph, waiters))

    def record(self, stream: StreamHandle) -> None:
        self.recording = self._events.recording(stream)
        self._driver.bind(stream.device_index)
        self._driver.call("aclrtRecordEvent", self.native, stream.native)
        self.recorded = True
        if self.recording is not None:
            self.recording.kept.append(self)

    def _refuse_recorded(self) -> None:
        if self.recording is not None:
            raise RuntimeError("NPU error: the event was recorded into a graph: it happens at each replay, unseen")

    def query(self) -> bool:
        self._refuse_recorded()
        return not self.recorded or self._events.has_happened(self.native, self.device_index)

    def synchronize(self) -> None:
        self._refuse_recorded()
        if self.recorded:
            self._driver.bind(self.device_index)
            self._driver.call("aclrtSynchronizeEvent", self.native)

    def elapsed(self, end: EventHandle) -> float:
        for event in (self, end):
            if not event.recorded or not event.query():
                raise RuntimeError("NPU error: the event has not been reached: synchronize it first")
        self._driver.bind(self.device_index)
        milliseconds = ctypes.c_float()
        self._driver.call("aclrtEventElapsedTime", ctypes.byref(milliseconds), self.native, end.native)
        return milliseconds.value


def _no_recording(stream: StreamHandle) -> Recording | None:
    return None


class Events:
    """Makes events, and destroys them when neither their stream nor one that waits for them needs them any more."""

    def __init__(self, driver: Driver, streams: Streams) -> None:
        self.driver = driver
        self._streams = streams
        self._create = driver.acl.first_of("create_event")
        #: `Graphs.recording`, once there are graphs.
        self.recording: Callable[[StreamHandle], Recording | None] = _no_recording
        self.retired: deque[tuple[int, int, bool, set[tuple[int, int]]]] = deque()

    def new(self, index: int, timing: bool) -> EventHandle:
        """An event of a device."""
        if len(self.retired) >= RETIRED and not self.driver.recordings:
            self.sweep()
        self.driver.bind(index)
        flags = SYNC | PROGRESS | (TIME_LINE if timing else 0)
        create = self.driver.acl.raw(self._create)
        return EventHandle(self, self.driver.acl.handle(lambda place: create(place, flags), self._create), index)

    def has_happened(self, native: int, index: int) -> bool:
        """Whether a recorded event has been reached."""
        self.driver.bind(index)
        status = self.driver.acl.asked("aclrtQueryEventStatus", ctypes.c_int32, before=(native,))
        return bool(status == EVENT_COMPLETE)

    def sweep(self) -> None:
        """Destroy retired events that have happened and been waited for."""
        for _ in range(len(self.retired)):
            native, index, recorded, waiters = self.retired.popleft()
            if (recorded and not self.has_happened(native, index)) or not all(
                self._streams.is_idle(*waiter) for waiter in waiters
            ):
                self.retired.append((native, index, recorded, waiters))
                continue
            self.driver.bind(index)
            self.driver.call("aclrtDestroyEvent", native)

    def close(self) -> None:
        """Destroy what was retired; all work is done."""
        while self.retired:
            native, index, _, _ = self.retired.popleft()
            self.driver.bind(index)
            self.driver.call("aclrtDestroyEvent", native)
