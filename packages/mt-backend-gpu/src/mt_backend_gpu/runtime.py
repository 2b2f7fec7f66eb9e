"""The device runtime of ``cuda``: from it mindtorch makes ``torch.cuda`` (`mt_core.plugins.runtime`)."""

from __future__ import annotations

import contextlib
import itertools
import threading
from types import SimpleNamespace
from typing import Any

import cupy
import numpy

from .allocator import Allocator, Block
from .compiled.on_cupy import available, raise_faults
from .generators import PhiloxEngine
from .graphs import CudaGraph
from .memory import carrier
from .pinned import PinnedMemory
from .streams import EventHandle, StreamHandle

__all__ = ["CudaRuntime", "on_device"]

_api = cupy.cuda.runtime


def on_device(index: int) -> Any:
    """The context in which a device is current; none is entered where it is so already."""
    return contextlib.nullcontext() if index == _api.getDevice() else cupy.cuda.Device(index)


class Properties(SimpleNamespace):
    """What ``torch.cuda.get_device_properties`` returns."""

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, L2_cache_size={self.L2_cache_size >> 20}MB)"
        )


class CudaRuntime:
    """Follows `mt_core.plugins.runtime.DeviceRuntime`.

    The part "generators" is there where kernels can be compiled, which draw; elsewhere numbers are drawn on the host.
    """

    def __init__(self) -> None:
        self._allocator = Allocator()
        self.allocate = self._allocator.allocate
        self._pinned = PinnedMemory()
        self._pools = itertools.count(1)
        self._streams = threading.local()
        self._defaults: dict[int, StreamHandle] = {}
        self.pin, self.is_pinned = self._pinned.pin, self._pinned.is_pinned
        if available():
            self.engine = self._engine
        cupy.cuda.set_allocator(self.allocate)

    # Device control

    def current_device(self) -> int:
        index: int = _api.getDevice()
        return index

    def set_device(self, index: int) -> None:
        _api.setDevice(index)

    def synchronize(self, index: int) -> None:
        with on_device(index):
            _api.deviceSynchronize()
        raise_faults(index)

    def properties(self, index: int) -> Properties:
        found = _api.getDeviceProperties(index)
        uuid = bytes(found["uuid"])[:16].hex()
        return Properties(
            name=found["name"].decode(), major=found["major"], minor=found["minor"],
            total_memory=found["totalGlobalMem"],
            multi_processor_count=found["multiProcessorCount"], warp_size=found["warpSize"],
            max_threads_per_multi_processor=found["maxThreadsPerMultiProcessor"],
            regs_per_multiprocessor=found["regsPerMultiprocessor"], shared_memory_per_block=found["sharedMemPerBlock"],
            shared_memory_per_multiprocessor=found["sharedMemPerMultiprocessor"], L2_cache_size=found["l2CacheSize"],
            is_integrated=found["integrated"], is_multi_gpu_board=found["isMultiGpuBoard"],
            uuid="-".join((uuid[:8], uuid[8:12], uuid[12:16], uuid[16:20], uuid[20:])), pci_bus_id=found["pciBusID"],
            pci_device_id=found["pciDeviceID"], pci_domain_id=found["pciDomainID"],
        )  # fmt: skip

    def capability(self, index: int) -> tuple[int, int]:
        found = _api.getDeviceProperties(index)
        return found["major"], found["minor"]

    def supported_dtypes(self, index: int) -> tuple[Any, ...]:
        from .backend import HELD  # the backend imports this module

        return tuple(HELD)

    def can_access_peer(self, index: int, peer: int) -> bool:
        return index != peer and bool(_api.deviceCanAccessPeer(index, peer))

    # Streams

    def stream(self, index: int, priority: int) -> StreamHandle:
        with on_device(index):
            return StreamHandle(cupy.cuda.Stream(non_blocking=True, priority=priority), index, priority)

    def external_stream(self, native: int, index: int) -> StreamHandle:
        if native in (0, 1):  # the default stream, also by DLPack's number
            return self.default_stream(index)
        return StreamHandle(cupy.cuda.ExternalStream(native, index), index, 0)

    def default_stream(self, index: int) -> StreamHandle:
        found = self._defaults.get(index)
        if found is None:
            found = self._defaults[index] = StreamHandle(cupy.cuda.Stream.null, index, 0)
        return found

    def current_stream(self, index: int) -> StreamHandle:
        found: StreamHandle | None = getattr(self._streams, "current", {}).get(index)
        return self.default_stream(index) if found is None else found

    def set_stream(self, stream: StreamHandle) -> None:
        if not hasattr(self._streams, "current"):
            self._streams.current = {}
        self._streams.current[stream.device_index] = stream
        with on_device(stream.device_index):
            stream.driver.use()

    def event(self, index: int, timing: bool, blocking: bool, interprocess: bool) -> EventHandle:
        if interprocess:
            raise NotImplementedError("events for several processes are not implemented on device 'cuda'")
        with on_device(index):
            return EventHandle(cupy.cuda.Event(blocking, not timing), index, timing)

    def record_stream(self, array: Any, stream: StreamHandle) -> None:
        block = getattr(array.data.mem, "owner", None)
        if isinstance(block, Block):
            block.users.add(stream)

    # Memory

    def memory_stats(self, index: int) -> dict[str, int]:
        found = dict(self._allocator.figures(index))
        with on_device(index):
            held = self._allocator.pool.total_bytes()
        found["reserved_bytes.all.current"] = held
        peak = max(held, found["allocated_bytes.all.peak"], self._allocator.most_reserved.get(index, 0))
        found["reserved_bytes.all.peak"] = self._allocator.most_reserved[index] = peak
        return found

    def memory_info(self, index: int) -> tuple[int, int]:
        with on_device(index):
            free, total = _api.memGetInfo()
        return free, total

    def empty_cache(self) -> None:
        for index in range(_api.getDeviceCount()):
            with on_device(index):
                self._note_reserved(index)
                self._allocator.pool.free_all_blocks()

    def _note_reserved(self, index: int) -> None:
        most = self._allocator.most_reserved
        most[index] = max(most.get(index, 0), self._allocator.pool.total_bytes())

    def reset_peak_memory_stats(self, index: int) -> None:
        figures = self._allocator.figures(index)
        for name in figures:
            if name.endswith(".peak"):
                figures[name] = figures[name.removesuffix("peak") + "current"]
        self._allocator.most_reserved.pop(index, None)

    def reset_accumulated_memory_stats(self, index: int) -> None:
        figures = self._allocator.figures(index)
        for name in figures:
            if name.endswith((".allocated", ".freed")):
                figures[name] = 0

    def memory_fraction(self, index: int) -> float:
        with on_device(index):
            limit, total = self._allocator.pool.get_limit(), _api.memGetInfo()[1]
        return limit / total if limit else 1.0

    def set_memory_fraction(self, fraction: float, index: int) -> None:
        with on_device(index):
            self._allocator.pool.set_limit(fraction=fraction)

    # Copies between the host, a device and another

    def write(self, target: Any, source: numpy.ndarray) -> None:
        """Copy a row-major host array to a row-major array of the device; the source may be changed afterwards."""
        if target.size:
            with on_device(target.data.device_id):
                target.set(source)

    def read(self, source: Any) -> numpy.ndarray:
        """A host array of the same elements; waits for the current stream."""
        index = source.data.device_id
        with on_device(index):
            found: numpy.ndarray = (
                carrier(source).get().view(source.dtype) if source.dtype.kind == "V" else source.get()
            )
        raise_faults(index)
        return found

    def brought(self, source: Any, index: int) -> Any:
        """A row-major copy of an array on another device, by whose current stream it is made.

        What the caller has ordered is the source as it was; what makes it row-major comes after that.
        """
        own = source.data.device_id
        stream = self.current_stream(index)
        if not source.flags.c_contiguous:
            with on_device(own):
                source = cupy.ascontiguousarray(source)
            stream.wait(self.current_stream(own).mark())
        with cupy.cuda.Device(index):
            made = cupy.empty(source.shape, source.dtype)
            made.data.copy_from_device_async(source.data, source.nbytes, cupy.cuda.get_current_stream())
        self.record_stream(source, stream)
        return made

    def copy_from_host(self, target: Any, source: numpy.ndarray) -> None:
        with on_device(target.data.device_id):
            self._pinned.copy_in(target, source)

    def copy_to_host(self, target: numpy.ndarray, source: Any) -> None:
        with on_device(source.data.device_id):
            self._pinned.copy_out(target, source)

    # Random numbers, and graphs

    def _engine(self, index: int, seed: int) -> PhiloxEngine:
        return PhiloxEngine(seed)

    def graph(self) -> CudaGraph:
        return CudaGraph(self._allocator)

    def graph_pool(self) -> tuple[int, int]:
        return 0, next(self._pools)

    def is_capturing(self, stream: StreamHandle) -> bool:
        return bool(stream.driver.is_capturing())
