"""Graphs of the device runtime, over CANN's: work that streams are given is recorded, and given again at each replay.

What is recorded refers to memory by its address. Device memory that is taken on a stream while that is recorded comes
from a `GraphPool`, which nobody but graphs on that pool is served from as long as one of them lives; host memory and
events are kept by the graph itself. CANN allows nobody to ask after streams, events and devices, or to wait for them,
while anything is recorded (development guide of CANN 9.1, "ACL Graph", single-stream and cross-stream capture): what
needs that to free memory or events waits until the recording is over (`Driver.recordings`).
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from typing import Any

from mt_core.plugins import runtime_access

from .driver import Driver
from .streams import StreamHandle, Streams

__all__ = ["AscendGraph", "GraphPool", "Graphs", "Recording"]

#: aclmdlRICaptureMode (acl/acl_rt.h).
MODES = {"global": 0, "thread_local": 1, "relaxed": 2}
#: ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE (acl/acl_rt.h).
ACTIVE = 1


class GraphPool:
    """Device memory for graphs; `graphs` counts those that are recorded into it and live."""

    __slots__ = ("graphs",)

    def __init__(self) -> None:
        self.graphs = 0


class Recording:
    """What is recorded between two calls, and what must live as long: memory of the host, events."""

    def __init__(self, model: int, stream: StreamHandle, pool: GraphPool) -> None:
        self.model = model
        self.stream = stream
        self.pool = pool
        self.kept: list[Any] = []


class Graphs:
    """The part "graphs" of the runtime: recordings under way, and graphs that are to be destroyed."""

    def __init__(self, driver: Driver, streams: Streams) -> None:
        self.driver = driver
        self.streams = streams
        self._under_way: dict[int, Recording] = {}
        self._lock = threading.Lock()
        #: (model, device, streams that were given it, pool, what it kept) of graphs that nothing refers to any more.
        self.retired: deque[tuple[int, int, set[StreamHandle], GraphPool, list[Any]]] = deque()
        self._models: dict[int, int] = {}

    def recording(self, stream: StreamHandle) -> Recording | None:
        """The recording that what a stream is given goes to; it may be another stream's that this one waited for."""
        if not self.driver.recordings:
            return None
        status, model = ctypes.c_int32(), ctypes.c_void_p()
        self.driver.bind(stream.device_index)
        self.driver.call("aclmdlRICaptureGetInfo", stream.native, ctypes.byref(status), ctypes.byref(model))
        return self._under_way.get(model.value or 0) if status.value == ACTIVE else None

    def begin(self, stream: StreamHandle, pool: GraphPool, mode: int) -> Recording:
        """Record what a stream is given from here on."""
        self.driver.bind(stream.device_index)
        self.driver.call("aclmdlRICaptureBegin", stream.native, mode)
        status, model = ctypes.c_int32(), ctypes.c_void_p()
        self.driver.call("aclmdlRICaptureGetInfo", stream.native, ctypes.byref(status), ctypes.byref(model))
        made = Recording(model.value or 0, stream, pool)
        with self._lock:
            self._under_way[made.model] = made
            self.driver.recordings += 1
            pool.graphs += 1
        return made

    def end(self, recording: Recording) -> int:
        """CANN's handle of what was recorded; the recording is over also where CANN says that it failed."""
        acl = self.driver.acl
        self.driver.bind(recording.stream.device_index)
        native = recording.stream.native
        ended = acl.raw("aclmdlRICaptureEnd")
        model: int | None = None
        try:
            model = acl.handle(lambda place: ended(native, place), "aclmdlRICaptureEnd")
        finally:
            with self._lock:
                del self._under_way[recording.model]
                self.driver.recordings -= 1
                if model is None:
                    recording.pool.graphs -= 1
        self._models[model] = recording.stream.device_index
        return model

    def sweep(self) -> None:
        """Destroy retired graphs, when what they were given to is done; nothing while anything is recorded."""
        while self.retired and not self.driver.recordings:
            model, index, used, pool, kept = self.retired.popleft()
            for stream in used:
                stream.synchronize()
            self.driver.bind(index)
            self.driver.call("aclmdlRIDestroy", model)
            del self._models[model]
            kept.clear()
            with self._lock:
                pool.graphs -= 1

    def close(self) -> None:
        """Destroy all graphs; all work is done."""
        self.retired.clear()
        for model, index in self._models.items():
            self.driver.bind(index)
            self.driver.call("aclmdlRIDestroy", model)
        self._models.clear()


class AscendGraph:
    """Follows `mt_core.plugins.runtime.GraphHandle`.

    Raises
    ------
    NotImplementedError
        Where this CANN cannot record.
    """

    def __init__(self, graphs: Graphs) -> None:
        graphs.driver.acl.raw("aclmdlRICaptureBegin")
        self.pool = GraphPool()
        self._graphs = graphs
        #: The device that it was recorded on.
        self._index = 0
        self._recording: Recording | None = None
        self._model = 0
        self._used: set[StreamHandle] = set()
        self._kept: list[Any] = []

    def capture_begin(self, pool: Any, mode: str) -> None:
        if mode not in MODES:
            raise RuntimeError(
                f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got {mode}"
            )
        if self._model or self._recording is not None:
            raise RuntimeError(
                "This NPUGraph instance already owns a captured graph. To capture a new graph, create a new instance."
            )
        if pool is not None and not isinstance(pool, GraphPool):
            raise TypeError(f"a pool is what graph_pool_handle() or a graph's pool() gives, not {type(pool).__name__}")
        graphs = self._graphs
        if graphs.driver.blocking:
            raise RuntimeError("graphs cannot be recorded with ASCEND_LAUNCH_BLOCKING=1, which waits for every call")
        index = runtime_access.current_index("npu")
        stream = graphs.streams.current(index)
        if stream.native == graphs.streams.default(index).native:
            raise RuntimeError(
                "NPU graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them "
                "on the default stream.)"
            )
        graphs.sweep()
        if pool is not None:
            self.pool = pool
        self._index = index
        self._recording = graphs.begin(stream, self.pool, MODES[mode])

    def capture_end(self) -> None:
        recording = self._recording
        if recording is None:
            raise RuntimeError("capture_end without capture_begin")
        current = self._graphs.streams.current(self._index)
        if current.native != recording.stream.native:
            raise RuntimeError("Capture must end on the same stream it began on.")
        self._recording = None
        self._model = self._graphs.end(recording)
        self._kept = recording.kept

    def replay(self) -> None:
        if not self._model:
            raise RuntimeError("Called NPUGraph::replay without a preceding successful capture.")
        graphs = self._graphs
        stream = graphs.streams.current(self._index)
        if graphs.recording(stream) is not None:
            raise NotImplementedError("a graph cannot be replayed into another that is recorded")
        graphs.driver.bind(self._index)
        graphs.driver.call("aclmdlRIExecuteAsync", self._model, stream.native)
        self._used.add(stream)
        graphs.driver.launched(stream.native)

    def reset(self) -> None:
        if self._recording is not None:
            raise RuntimeError("a graph that is recorded cannot be reset: end the recording first")
        self._retire()
        self._graphs.sweep()

    def _retire(self) -> None:
        if self._model:
            self._graphs.retired.append((self._model, self._index, self._used, self.pool, self._kept))
            self._model, self._used, self._kept = 0, set(), []

    def __del__(self) -> None:
        if getattr(self, "_model", 0):  # this may run anywhere: whoever records or gives memory back next destroys it
            self._retire()
