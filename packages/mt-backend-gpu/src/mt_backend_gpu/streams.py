"""Streams and events of the device runtime, over CuPy's."""

from __future__ import annotations

from typing import Any

import cupy

from .compiled.on_cupy import raise_faults

__all__ = ["EventHandle", "StreamHandle"]


class StreamHandle:
    """Follows `mt_core.plugins.runtime.StreamHandle`; `driver` is CuPy's stream."""

    def __init__(self, driver: Any, device_index: int, priority: int) -> None:
        self.driver = driver
        self.device_index = device_index
        self.priority = priority
        self.native: int = driver.ptr
        #: PyTorch counts streams; the driver's own number serves as well.
        self.id = self.native

    def query(self) -> bool:
        return bool(self.driver.done)

    def synchronize(self) -> None:
        self.driver.synchronize()
        raise_faults(self.device_index)

    def wait(self, event: EventHandle) -> None:
        self.driver.wait_event(event.driver)

    def mark(self) -> EventHandle:
        """An event after everything that the stream was given until now."""
        with cupy.cuda.Device(self.device_index):
            made = EventHandle(cupy.cuda.Event(disable_timing=True), self.device_index, False)
            made.record(self)
        return made


class EventHandle:
    """Follows `mt_core.plugins.runtime.EventHandle`; `driver` is CuPy's event."""

    def __init__(self, driver: Any, device_index: int, timing: bool) -> None:
        self.driver = driver
        self.device_index = device_index
        self.timing = timing
        self.native: int = driver.ptr
        self._recorded = False

    def record(self, stream: StreamHandle) -> None:
        self.driver.record(stream.driver)
        self._recorded = True

    def query(self) -> bool:
        return not self._recorded or bool(self.driver.done)

    def synchronize(self) -> None:
        if self._recorded:
            self.driver.synchronize()
            raise_faults(self.device_index)

    def elapsed(self, end: EventHandle) -> float:
        for event in (self, end):
            if not event.query():
                raise RuntimeError("CUDA error: device not ready")
        milliseconds: float = cupy.cuda.get_elapsed_time(self.driver, end.driver)
        return milliseconds
