"""What a device can do beyond arrays: the optional runtime of a backend.

A `Backend` makes, copies and views arrays, and that is all that tensors need. Programs ask more of an accelerator:
which of several devices is the current one, streams and events, how much memory is in use, random streams, page-locked
host memory, graphs of recorded work. A backend that offers these has an attribute ``runtime``, an object that follows
`DeviceRuntime`; absent or None says that it offers none. From that object ``torch.cuda``, ``torch.npu``,
``torch.accelerator``, a third party's ``torch.<device>``, ``torch.Stream``, ``torch.Event``,
``torch.Generator(device=...)``, ``Tensor.record_stream``, ``Tensor.pin_memory`` and ``non_blocking=True`` are made; the
backend writes none of them.

The protocol has six parts. `Devices` is what every runtime has; a runtime may leave out whole others, and what needs
one that is missing raises an error that names the device and what its runtime lacks. The core asks by
`mt_core.plugins.runtime_access.require`.

Device indices are plain numbers from 0 to ``Backend.device_count() - 1``; whoever calls a runtime has checked them and
has put the current device in the place of None. A runtime's methods are called from any thread, and the current device
and the current streams belong to the thread that sets them.

`mt_core.testing.simulated_runtime` is a complete runtime, over queues of Python functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np

__all__ = [
    "DeviceRuntime", "Devices", "Engine", "EventHandle", "Generators", "GraphHandle", "Graphs", "Memory", "PARTS",
    "PinnedMemory", "StreamHandle", "Streams",
]  # fmt: skip


class Devices(Protocol):
    """Part "device control": which device is current, and what each one is. Every runtime has it.

    A runtime may have an attribute `members` besides, a mapping from names to what ``torch.<device>`` has under them:
    functions that only some devices have, such as ``utilization``.
    """

    def current_device(self) -> int:
        """Index of the calling thread's current device: where ``Backend.empty(..., index=None)`` allocates."""
        ...

    def set_device(self, index: int) -> None:
        """Make a device the calling thread's current one."""
        ...

    def synchronize(self, index: int) -> None:
        """Wait until all work that was given to a device, on whichever stream, is done."""
        ...

    def properties(self, index: int) -> Any:
        """What a device is: an object with at least `name` (str) and `total_memory` (bytes)."""
        ...

    def capability(self, index: int) -> Any:
        """What ``torch.<device>.get_device_capability`` returns: (major, minor) on CUDA, a dict elsewhere."""
        ...

    def supported_dtypes(self, index: int) -> Iterable[Any]:
        """The `mt_core.dtypes.dtype` of the tensors that a device can hold."""
        ...

    def can_access_peer(self, index: int, peer: int) -> bool:
        """Whether one device reads another's memory without a copy by way of the host."""
        ...


class StreamHandle(Protocol):
    """A queue of work: what was given to one stream is done in order, streams among each other in any order."""

    #: A number that tells the streams of a device apart; 0 is the default stream.
    id: int
    device_index: int
    #: Lower numbers are served first; 0 is ordinary.
    priority: int
    #: Address of the driver's own stream, as ``Stream.native_handle`` and DLPack hand it over.
    native: int

    def query(self) -> bool:
        """Whether all its work is done. Does not wait."""
        ...

    def synchronize(self) -> None:
        """Wait until all its work is done."""
        ...

    def wait(self, event: Any) -> None:
        """Do nothing that is given from now on before an `EventHandle` has happened. Does not wait itself."""
        ...


class EventHandle(Protocol):
    """A point in a stream's work. It may be recorded again; what it marked before is then forgotten."""

    device_index: int
    #: Address of the driver's own event.
    native: int

    def record(self, stream: Any) -> None:
        """Mark the point after everything that a `StreamHandle` was given until now."""
        ...

    def query(self) -> bool:
        """Whether the point has been reached; True before the event was recorded."""
        ...

    def synchronize(self) -> None:
        """Wait until the point has been reached."""
        ...

    def elapsed(self, end: Any) -> float:
        """Milliseconds from this point to that of another event; both were made with ``timing=True`` and recorded.

        Raises
        ------
        RuntimeError
            When one of the two has not been reached.
        """
        ...


class Streams(Protocol):
    """Part "streams": queues of work and points in them."""

    def stream(self, index: int, priority: int) -> StreamHandle:
        """A new stream of a device."""
        ...

    def external_stream(self, native: int, index: int) -> StreamHandle:
        """A stream that another library made, by the address of the driver's stream; the handle does not own it."""
        ...

    def default_stream(self, index: int) -> StreamHandle:
        """The stream of a device that is used when a program sets none."""
        ...

    def current_stream(self, index: int) -> StreamHandle:
        """The stream that the calling thread's work on a device is given to."""
        ...

    def set_stream(self, stream: StreamHandle) -> None:
        """Make a stream the calling thread's current one of its device; the current device stays as it is."""
        ...

    def event(self, index: int, timing: bool, blocking: bool, interprocess: bool) -> EventHandle:
        """A new event of a device.

        Parameters
        ----------
        timing
            Whether `elapsed` will be asked.
        blocking
            Whether a thread that waits sleeps, rather than spins.
        interprocess
            Whether other processes will open it; a runtime without such events raises NotImplementedError.
        """
        ...

    def record_stream(self, array: Any, stream: StreamHandle) -> None:
        """Keep the memory of an array from being used again before what `stream` was given until it dies is done."""
        ...


class Memory(Protocol):
    """Part "memory statistics": what a device's allocator has handed out and kept."""

    def memory_stats(self, index: int) -> Mapping[str, int]:
        """Figures by PyTorch's names.

        The four of ``{allocated,reserved}_bytes.all.{current,peak}`` are always there; others are the runtime's choice.
        """
        ...

    def memory_info(self, index: int) -> tuple[int, int]:
        """(free, total) bytes of a device, all processes counted."""
        ...

    def empty_cache(self) -> None:
        """Give memory that the allocator keeps, and nobody uses, back to the devices."""
        ...

    def reset_peak_memory_stats(self, index: int) -> None:
        """Let the figures named ``peak`` start from the current ones."""
        ...

    def reset_accumulated_memory_stats(self, index: int) -> None:
        """Let the figures named ``allocated`` and ``freed``, which only grow, start from 0."""
        ...

    def memory_fraction(self, index: int) -> float:
        """The part of a device's memory that this process may allocate."""
        ...

    def set_memory_fraction(self, fraction: float, index: int) -> None:
        """Limit this process to a part (0 to 1) of a device's memory; beyond it, memory is refused as when full."""
        ...


class Engine(Protocol):
    """What draws a device's random numbers: the inside of a ``torch.Generator``.

    Kernels find it as ``generator.engine`` (`mt_core.random.generator_for` gives the generator where none was passed).
    """

    #: The seed that was last given, 0 to 2**64 - 1.
    seed: int
    #: Held while a kernel takes what it draws with from the engine.
    lock: Any

    def reseed(self, seed: int) -> None:
        """Start the stream of a seed."""
        ...

    def get_state(self) -> np.ndarray:
        """The state as uint8 elements."""
        ...

    def set_state(self, state: np.ndarray) -> None:
        """Continue from a state; RuntimeError for what is none, with nothing changed."""
        ...


class Generators(Protocol):
    """Part "generators": random streams of the device's own.

    Without it, a device's generators draw by PyTorch's CPU streams (`mt_core.random.engine.MersenneTwister`). An engine
    that counts what it has drawn, as Philox does, has an attribute `offset` besides, for ``Generator.get_offset``.
    """

    def engine(self, index: int, seed: int) -> Engine:
        """A new engine for a device, at the start of the stream of a seed."""
        ...


class PinnedMemory(Protocol):
    """Part "pinned memory": page-locked memory of the host, and copies that do not keep the host waiting."""

    def pin(self, nbytes: int) -> np.ndarray:
        """Uninitialized page-locked memory: a writable flat array of uint8, which keeps the memory alive."""
        ...

    def is_pinned(self, array: np.ndarray) -> bool:
        """Whether a host array lies in page-locked memory."""
        ...

    def copy_from_host(self, target: Any, source: np.ndarray) -> None:
        """Give the current stream of the target's device the copy of a pinned array to a device array; do not wait.

        Both have the same shape and dtype, and any strides. The runtime keeps the source's memory until the copy is
        done.
        """
        ...

    def copy_to_host(self, target: np.ndarray, source: Any) -> None:
        """The same from a device array to a pinned one, whose elements are defined once the stream is synchronized."""
        ...


class GraphHandle(Protocol):
    """Work that was recorded instead of done, and can be done any number of times, on the same memory."""

    #: What other graphs may be given as `pool`, to share this one's memory.
    pool: Any

    def capture_begin(self, pool: Any, mode: str) -> None:
        """Record from here on what the current stream is given.

        Parameters
        ----------
        pool
            Where the memory allocated meanwhile comes from: a `GraphHandle.pool`, a `Graphs.graph_pool`, or None.
        mode : {"global", "thread_local", "relaxed"}
            Which threads' calls that cannot be recorded end the recording with an error.
        """
        ...

    def capture_end(self) -> None:
        """End the recording."""
        ...

    def replay(self) -> None:
        """Give the recorded work to the current stream."""
        ...

    def reset(self) -> None:
        """Forget the recorded work and release its memory."""
        ...


class Graphs(Protocol):
    """Part "graphs": recording work, to give it to the device at once."""

    def graph(self) -> GraphHandle:
        """A new graph of the current device, with nothing recorded."""
        ...

    def graph_pool(self) -> Any:
        """A new pool of memory that several graphs may share."""
        ...

    def is_capturing(self, stream: StreamHandle) -> bool:
        """Whether what a stream is given is being recorded."""
        ...


class DeviceRuntime(Devices, Streams, Memory, Generators, PinnedMemory, Graphs, Protocol):
    """A runtime with all its parts; see the module for what may be left out."""


#: Name of a part -> its methods.
PARTS: dict[str, tuple[str, ...]] = {
    name: tuple(method for method in vars(protocol) if not method.startswith("_"))
    for name, protocol in {
        "device control": Devices, "streams": Streams, "memory statistics": Memory, "generators": Generators,
        "pinned memory": PinnedMemory, "graphs": Graphs,
    }.items()
}  # fmt: skip
