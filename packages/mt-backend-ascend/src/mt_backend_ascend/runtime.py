"""The device runtime of ``npu`` over CANN's: from it mindtorch makes ``torch.npu`` (`mt_core.plugins.runtime`)."""

from __future__ import annotations

import atexit
import ctypes
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy

from . import transfers
from .alloc_conf import settings_of
from .allocator import Allocator, Block
from .cann.acl import Acl
from .copying import Copier
from .device_array import DeviceArray
from .driver import Driver
from .graphs import AscendGraph, GraphPool, Graphs
from .pinned import PinnedMemory
from .streams import EventHandle, Events, StreamHandle, Streams

__all__ = ["AscendRuntime"]

#: aclrtDevAttr (acl/acl_rt.h) -> the property of that name.
_ATTRIBUTES = {102: "cube_core_num", 201: "vector_core_num", 302: "L2_cache_size"}


class Properties(SimpleNamespace):
    """What ``torch.npu.get_device_properties`` returns."""

    def __repr__(self) -> str:
        more = "".join(
            f", {name}={value}" for name, value in vars(self).items() if name not in ("name", "total_memory")
        )
        return f"_NPUDeviceProperties(name='{self.name}', total_memory={self.total_memory >> 20}MB{more})"


class _Current(threading.local):
    """What a thread has made current."""

    device = 0


class AscendRuntime:
    """Follows `mt_core.plugins.runtime.DeviceRuntime`, but for "generators" (numbers are drawn on the host).

    Parameters
    ----------
    acl
        libascendcl.so, initialized.
    dtypes
        The dtypes that tensors of the device have.
    """

    def __init__(self, acl: Acl, dtypes: Sequence[Any]) -> None:
        self.driver = Driver(acl)
        self.streams = Streams(self.driver)
        self.events = Events(self.driver, self.streams)
        self.graphs = Graphs(self.driver, self.streams)
        self.events.recording = self.graphs.recording
        self.memory = Allocator(self.driver, self.events, self.graphs, settings_of())
        self.pinned = PinnedMemory(self.driver, self.events)
        self.is_pinned = self.pinned.is_pinned
        self.copier = Copier(self)
        self._dtypes = tuple(dtypes)
        self._current = _Current()
        self._peers: set[tuple[int, int]] = set()
        atexit.register(self.close)

    def close(self) -> None:
        """Give everything back, when the process ends: tensors that live on have no memory then."""
        if self.driver.closed or self.driver.forked:
            return
        for index in sorted(self.driver.used):
            self.synchronize(index)
        self.graphs.close()
        self.pinned.close()
        self.memory.close()
        self.events.close()
        self.streams.close()
        self.driver.close()

    # Device control

    def device_count(self) -> int:
        return self.driver.count

    def current_device(self) -> int:
        return self._current.device

    def set_device(self, index: int) -> None:
        self.driver.bind(index)
        self._current.device = index

    def synchronize(self, index: int) -> None:
        self.driver.bind(index)
        self.driver.call("aclrtSynchronizeDevice")

    def properties(self, index: int) -> Properties:
        found = Properties(name=self.name(), total_memory=self.memory.memory_info(index)[1])
        if self.driver.acl.has("aclrtGetDeviceInfo"):
            for number, name in _ATTRIBUTES.items():
                value = self.driver.acl.asked("aclrtGetDeviceInfo", ctypes.c_int64, before=(index, number))
                setattr(found, name, value)
        return found

    def name(self) -> str:
        """The name of the chip: ``Ascend910B3``."""
        found = self.driver.acl.raw("aclrtGetSocName")()
        if not found:
            raise RuntimeError(f"NPU error: aclrtGetSocName names no chip. {self.driver.acl.recent_message()}")
        return str(found.decode())

    def capability(self, index: int) -> dict[str, Any]:
        return {"soc_name": self.name()}

    def supported_dtypes(self, index: int) -> tuple[Any, ...]:
        return self._dtypes

    def can_access_peer(self, index: int, peer: int) -> bool:
        if index == peer:
            return False
        return bool(self.driver.acl.asked("aclrtDeviceCanAccessPeer", ctypes.c_int32, after=(index, peer)))

    def enable_peer(self, index: int, peer: int) -> None:
        """Let a device read another's memory."""
        if (index, peer) not in self._peers:
            self.driver.bind(index)
            self.driver.call("aclrtDeviceEnablePeerAccess", peer, 0)
            self._peers.add((index, peer))

    # Streams

    def stream(self, index: int, priority: int) -> StreamHandle:
        return self.streams.new(index, priority)

    def external_stream(self, native: int, index: int) -> StreamHandle:
        return self.streams.external(native, index)

    def default_stream(self, index: int) -> StreamHandle:
        return self.streams.default(index)

    def current_stream(self, index: int) -> StreamHandle:
        return self.streams.current(index)

    def set_stream(self, stream: StreamHandle) -> None:
        self.streams.set_current(stream)

    def event(self, index: int, timing: bool, blocking: bool, interprocess: bool) -> EventHandle:
        if interprocess:
            raise NotImplementedError("events for several processes are not implemented on device 'npu'")
        return self.events.new(index, timing)

    def record_stream(self, array: DeviceArray, stream: StreamHandle) -> None:
        if stream.native != array.block.stream.native:
            array.block.users.add(stream)

    # Memory

    def allocate(self, nbytes: int, index: int) -> Block:
        """Memory on the current stream of a device; see `Allocator.allocate`."""
        return self.memory.allocate(nbytes, self.streams.current(index))

    def memory_stats(self, index: int) -> dict[str, int]:
        return self.memory.figures(index).all()

    def memory_info(self, index: int) -> tuple[int, int]:
        return self.memory.memory_info(index)

    def empty_cache(self) -> None:
        self.memory.empty_cache()

    def reset_peak_memory_stats(self, index: int) -> None:
        self.memory.figures(index).reset_peaks()

    def reset_accumulated_memory_stats(self, index: int) -> None:
        self.memory.figures(index).reset_sums()

    def memory_fraction(self, index: int) -> float:
        return self.memory.fractions[index]

    def set_memory_fraction(self, fraction: float, index: int) -> None:
        self.memory.fractions[index] = fraction

    # Graphs

    def graph(self) -> AscendGraph:
        return AscendGraph(self.graphs)

    def graph_pool(self) -> GraphPool:
        return GraphPool()

    def is_capturing(self, stream: StreamHandle) -> bool:
        return self.graphs.recording(stream) is not None

    # Pinned memory

    def pin(self, nbytes: int) -> numpy.ndarray:
        return self.pinned.pin(nbytes, self._current.device)

    def copy_from_host(self, target: DeviceArray, source: numpy.ndarray) -> None:
        transfers.from_pinned(self, target, source)

    def copy_to_host(self, target: numpy.ndarray, source: DeviceArray) -> None:
        transfers.to_pinned(self, target, source)
