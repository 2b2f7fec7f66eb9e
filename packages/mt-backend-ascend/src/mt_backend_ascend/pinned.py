"""Page-locked memory of the host, and copies between it and the device that the host does not wait for."""

from __future__ import annotations

import ctypes
from collections import deque
from typing import Any

import numpy

from .driver import Driver
from .streams import EventHandle, Events, StreamHandle

__all__ = ["PinnedMemory"]


class PinnedBytes:
    """Memory of aclrtMallocHost; `__array_interface__` hands it to NumPy, whose arrays then keep it alive."""

    def __init__(self, owner: PinnedMemory, address: int, nbytes: int) -> None:
        self._owner = owner
        self._address = address
        self.__array_interface__ = {"shape": (nbytes,), "typestr": "|u1", "data": (address, False), "version": 3}

    def __del__(self) -> None:
        self._owner.dead.append(self._address)


class PinnedMemory:
    """The part "pinned memory" of the runtime."""

    def __init__(self, driver: Driver, events: Events) -> None:
        self._driver = driver
        self._events = events
        self._addresses: set[int] = set()
        #: What nothing refers to any more.
        self.dead: deque[int] = deque()
        #: Host memory that copies may still be reading or writing, and the events after which they do not.
        self._busy: list[tuple[Any, EventHandle]] = []

    def pin(self, nbytes: int, index: int) -> numpy.ndarray:
        """Uninitialized memory, registered with a device."""
        self._release()
        self._driver.bind(index)
        malloc = self._driver.acl.raw("aclrtMallocHost")
        address = self._driver.acl.handle(lambda place: malloc(place, max(nbytes, 1)), "aclrtMallocHost")
        self._addresses.add(address)
        return numpy.asarray(PinnedBytes(self, address, nbytes))

    def is_pinned(self, array: numpy.ndarray) -> bool:
        """Whether an array lies in memory of `pin`."""
        whole: Any = array
        while isinstance(whole, numpy.ndarray):
            whole = whole.base
        return isinstance(whole, PinnedBytes)

    def used(self, memory: Any, stream: StreamHandle) -> None:
        """Keep host memory until what a stream was given is done."""
        recording = self._events.recording(stream)
        if recording is not None:
            recording.kept.append(memory)
            return
        self._forget_done()
        event = self._events.new(stream.device_index, False)
        event.record(stream)
        self._busy.append((memory, event))

    def _forget_done(self) -> None:
        if not self._driver.recordings:
            self._busy = [(kept, event) for kept, event in self._busy if not event.query()]

    def _release(self) -> None:
        """Free what nothing refers to."""
        self._forget_done()
        while self.dead:
            self._free(self.dead.popleft())

    def _free(self, address: int) -> None:
        if address in self._addresses:
            self._addresses.remove(address)
            self._driver.call("aclrtFreeHost", ctypes.c_void_p(address))

    def close(self) -> None:
        """Free what is not in use; arrays that live on keep theirs until the process is gone."""
        self._busy.clear()
        while self.dead:
            self._free(self.dead.popleft())
