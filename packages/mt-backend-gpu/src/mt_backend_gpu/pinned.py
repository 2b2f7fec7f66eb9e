"""Page-locked memory of the host, and copies between it and the device that the host does not wait for."""

from __future__ import annotations

from typing import Any

import cupy
import numpy

__all__ = ["PinnedMemory"]

_api = cupy.cuda.runtime


class PinnedMemory:
    """The part "pinned memory" of the runtime."""

    def __init__(self) -> None:
        #: Host memory that copies may still be reading or writing, and the events after which they do not.
        self._busy: list[tuple[Any, Any]] = []

    def pin(self, nbytes: int) -> numpy.ndarray:
        """Uninitialized page-locked memory."""
        memory = cupy.cuda.alloc_pinned_memory(max(nbytes, 1))
        return numpy.frombuffer(memory, numpy.uint8, nbytes)

    def is_pinned(self, array: numpy.ndarray) -> bool:
        """Whether an array lies in memory of `pin`."""
        whole: Any = array
        while isinstance(whole, numpy.ndarray):
            whole = whole.base
        if isinstance(whole, memoryview):
            whole = whole.obj
        return isinstance(whole, cupy.cuda.PinnedMemoryPointer)

    def copy_in(self, target: Any, source: numpy.ndarray) -> None:
        """Give the current stream the copy of a pinned array to the current device."""
        staged = source if source.flags.c_contiguous else self._like(source)
        if staged is not source:
            staged[...] = source
        place = target if target.flags.c_contiguous else cupy.empty(target.shape, target.dtype)
        self._move(place.data.ptr, _address(staged), place.nbytes, _api.memcpyHostToDevice, staged)
        if place is not target:
            target[...] = place

    def copy_out(self, target: numpy.ndarray, source: Any) -> None:
        """Give the current stream the copy of a device array to a pinned one."""
        if not target.flags.c_contiguous:
            target[...] = source.get()
            return
        place = source if source.flags.c_contiguous else cupy.ascontiguousarray(source)
        self._move(_address(target), place.data.ptr, place.nbytes, _api.memcpyDeviceToHost, (target, place))

    def _like(self, array: numpy.ndarray) -> numpy.ndarray:
        return self.pin(array.nbytes).view(array.dtype).reshape(array.shape)

    def _move(self, to: int, of: int, nbytes: int, kind: int, kept: Any) -> None:
        stream = cupy.cuda.get_current_stream()
        if nbytes:
            _api.memcpyAsync(to, of, nbytes, kind, stream.ptr)
        self._busy = [(memory, event) for memory, event in self._busy if not event.done]
        event = cupy.cuda.Event(disable_timing=True)
        event.record(stream)
        self._busy.append((kept, event))


def _address(array: numpy.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
