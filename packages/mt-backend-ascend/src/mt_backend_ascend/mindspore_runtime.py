"""The device runtime of ``npu`` where MindSpore has the memory and the streams: ``torch.npu`` over its functions.

MindSpore uses one device in a process. What its Python interface does not have raises an error that says so: several
devices, `Tensor.record_stream`, limits of memory, pinned memory, graphs.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mt_mindspore.backend import MindSporeBackend

from .cann.libraries import version
from .figures import in_words

__all__ = ["NAMES", "AscendBackend", "MindSporeRuntime"]

#: What is used of MindSpore 2.10: names in the module, which a test looks for in the wheel.
NAMES = (
    "runtime.Stream", "runtime.Stream.id", "runtime.Stream.query", "runtime.Stream.stream_ptr",
    "runtime.Stream.synchronize", "runtime.Event", "runtime.Event.record", "runtime.Event.query", "runtime.Event.wait",
    "runtime.Event.synchronize", "runtime.Event.elapsed_time", "runtime.current_stream", "runtime.default_stream",
    "runtime.set_cur_stream", "runtime.synchronize", "runtime.memory_stats", "runtime.empty_cache",
    "runtime.reset_peak_memory_stats", "hal.get_device_properties",
)  # fmt: skip
_FIGURES = {
    "allocated_bytes.all.current": "total_allocated_memory", "allocated_bytes.all.peak": "max_allocated_memory",
    "reserved_bytes.all.current": "total_reserved_memory", "reserved_bytes.all.peak": "max_reserved_memory",
}  # fmt: skip


class StreamHandle:
    """Follows `mt_core.plugins.runtime.StreamHandle`; `stream` is MindSpore's."""

    device_index = 0

    def __init__(self, stream: Any, priority: int = 0) -> None:
        self.stream = stream
        self.priority = priority
        self.id = int(stream.id)
        #: All 64 bits of the ``aclrtStream``.
        self.native = int(stream.stream_ptr()) & ((1 << 64) - 1)

    def query(self) -> bool:
        return bool(self.stream.query())

    def synchronize(self) -> None:
        self.stream.synchronize()

    def wait(self, event: EventHandle) -> None:
        if event.recorded:
            event.event.wait(self.stream)


class EventHandle:
    """Follows `mt_core.plugins.runtime.EventHandle`; `event` is MindSpore's."""

    device_index = 0

    def __init__(self, event: Any) -> None:
        self.event = event
        self.recorded = False

    @property
    def native(self) -> int:
        """The address of the driver's event, which MindSpore does not tell."""
        raise NotImplementedError("MindSpore does not tell the address of an event's aclrtEvent")

    def record(self, stream: StreamHandle) -> None:
        self.event.record(stream.stream)
        self.recorded = True

    def query(self) -> bool:
        return not self.recorded or bool(self.event.query())

    def synchronize(self) -> None:
        if self.recorded:
            self.event.synchronize()

    def elapsed(self, end: EventHandle) -> float:
        for event in (self, end):
            if not event.recorded or not event.query():
                raise RuntimeError("NPU error: the event has not been reached: synchronize it first")
        return float(self.event.elapsed_time(end.event))


class Properties(SimpleNamespace):
    """What ``torch.npu.get_device_properties`` returns."""

    def __repr__(self) -> str:
        return f"_NPUDeviceProperties(name='{self.name}', total_memory={in_words(self.total_memory)})"


class MindSporeRuntime:
    """Follows the parts "device control", "streams" and "memory statistics" of `mt_core.plugins.runtime.DeviceRuntime`.

    Parameters
    ----------
    backend
        Whose module is asked, when it is first needed.
    """

    def __init__(self, backend: MindSporeBackend) -> None:
        self._backend = backend

    @property
    def _mindspore(self) -> Any:
        return self._backend.mindspore

    @property
    def _runtime(self) -> Any:
        return self._backend.mindspore.runtime

    def _only(self, index: int) -> None:
        if index:
            raise NotImplementedError(
                f"MindSpore uses one device in a process, which is device 0 here, not {index}: choose it by "
                "ASCEND_RT_VISIBLE_DEVICES"
            )

    # Device control

    def current_device(self) -> int:
        return 0

    def set_device(self, index: int) -> None:
        self._only(index)

    def synchronize(self, index: int) -> None:
        self._only(index)
        self._runtime.synchronize()

    def properties(self, index: int) -> Properties:
        self._only(index)
        found = self._mindspore.hal.get_device_properties(0, "Ascend")
        return Properties(name=str(found.name), total_memory=int(found.total_memory))

    def capability(self, index: int) -> dict[str, Any]:
        return {"soc_name": self.properties(index).name}

    def supported_dtypes(self, index: int) -> tuple[Any, ...]:
        return tuple(self._backend.dtypes.held)

    def can_access_peer(self, index: int, peer: int) -> bool:
        self._only(index)
        self._only(peer)
        return False

    # Streams

    def stream(self, index: int, priority: int) -> StreamHandle:
        self._only(index)
        return StreamHandle(self._runtime.Stream(priority), priority)

    def external_stream(self, native: int, index: int) -> StreamHandle:
        for known in (self.current_stream(index), self.default_stream(index)):
            if known.native == native:
                return known
        raise NotImplementedError(f"MindSpore takes no streams of others, such as the one at {native:#x}")

    def default_stream(self, index: int) -> StreamHandle:
        self._only(index)
        return StreamHandle(self._runtime.default_stream())

    def current_stream(self, index: int) -> StreamHandle:
        self._only(index)
        return StreamHandle(self._runtime.current_stream())

    def set_stream(self, stream: StreamHandle) -> None:
        self._runtime.set_cur_stream(stream.stream)

    def event(self, index: int, timing: bool, blocking: bool, interprocess: bool) -> EventHandle:
        self._only(index)
        if interprocess:
            raise NotImplementedError("events for several processes are not implemented on device 'npu'")
        return EventHandle(self._runtime.Event(timing, blocking))

    def record_stream(self, array: Any, stream: StreamHandle) -> None:
        raise NotImplementedError(
            "MindSpore's tensors have no record_stream: make the stream the current one, by torch.npu.stream(...)"
        )

    # Memory

    def memory_stats(self, index: int) -> dict[str, int]:
        self._only(index)
        found = self._runtime.memory_stats()
        return {name: int(found[theirs]) for name, theirs in _FIGURES.items()}

    def memory_info(self, index: int) -> tuple[int, int]:
        self._only(index)
        found = self._mindspore.hal.get_device_properties(0, "Ascend")
        return int(found.free_memory), int(found.total_memory)

    def empty_cache(self) -> None:
        self._runtime.empty_cache()

    def reset_peak_memory_stats(self, index: int) -> None:
        self._only(index)
        self._runtime.reset_peak_memory_stats()

    def reset_accumulated_memory_stats(self, index: int) -> None:
        raise NotImplementedError("MindSpore keeps no sums of what was allocated and freed")

    def memory_fraction(self, index: int) -> float:
        raise NotImplementedError("MindSpore's memory is limited by mindspore.runtime.set_memory(max_size=...)")

    def set_memory_fraction(self, fraction: float, index: int) -> None:
        raise NotImplementedError("MindSpore's memory is limited by mindspore.runtime.set_memory(max_size=...)")


class AscendBackend(MindSporeBackend):
    """MindSpore's target ``Ascend``, with its runtime."""

    def __init__(self, device_type: str) -> None:
        super().__init__(device_type, "Ascend")
        self.runtime = MindSporeRuntime(self)

    def diagnose(self) -> list[tuple[str, str]]:
        return [*super().diagnose(), ("chip", self.runtime.properties(0).name), ("CANN", version())]
