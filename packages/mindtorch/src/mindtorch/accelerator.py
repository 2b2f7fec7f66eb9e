"""``torch.accelerator``: the device of this machine that is not its CPU, if a backend for one sees it.

Which one that is says `mt_core.plugins.runtime_access.accelerator_type`. The functions are those of its own module,
``torch.<device>`` (`mindtorch._device_module`), under names that fit every device type.
"""

from collections import OrderedDict
from types import TracebackType
from typing import Any

from mt_core import device as _device
from mt_core.plugins import runtime_access

from . import _device_module
from ._device_module import DeviceModule

__all__ = [
    "Graph", "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
    "device_index", "empty_cache", "empty_host_cache", "get_device_capability", "get_memory_info", "is_available",
    "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats",
    "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream",
    "synchronize",
]  # fmt: skip

_NONE = "Cannot access accelerator device when none is available."


def current_accelerator(check_available: bool = False) -> _device | None:
    """The device, without an index; None when there is none. What can be had is always available."""
    kind = runtime_access.accelerator_type()
    return None if kind is None else _device(kind)


def is_available() -> bool:
    """Whether there is one."""
    return runtime_access.accelerator_type() is not None


def device_count() -> int:
    """How many devices of its type can be used."""
    kind = runtime_access.accelerator_type()
    return 0 if kind is None else runtime_access.count_devices(kind)


def _functions() -> DeviceModule:
    """The functions of the accelerator's own module.

    Raises
    ------
    RuntimeError
        When there is none.
    """
    kind = runtime_access.accelerator_type()
    if kind is None:
        raise RuntimeError(_NONE)
    return _device_module.device_functions(kind)


def _place(device: Any) -> tuple[DeviceModule, int | None]:
    """The accelerator's functions, and the index that a device argument names.

    Raises
    ------
    RuntimeError
        When there is no accelerator, or the device is none.
    ValueError
        For a device of another type.
    """
    if device is None or isinstance(device, int):
        return _functions(), device
    where = _device(device)
    kind = runtime_access.accelerator_type()
    if where.type in ("cpu", "meta"):
        raise RuntimeError("Accelerator expected")
    if where.type != kind and kind is not None:
        raise ValueError(f"{where.type} doesn't match the current accelerator {kind}.")
    return _functions(), where.index


def current_device_index() -> int:
    """Index of the current device."""
    return _functions().current_device()


def set_device_index(device: Any, /) -> None:
    """Make a device the current one."""
    functions, index = _place(device)
    functions.set_device(index)


#: The names that PyTorch had first.
current_device_idx = current_device_index
set_device_idx = set_device_index


def current_stream(device: Any = None, /) -> Any:
    """The stream that work on a device is given to."""
    functions, index = _place(device)
    return functions.current_stream(index)


def set_stream(stream: Any) -> None:
    """Make a stream the current one of its device, and its device the current one."""
    _functions().set_stream(stream)


def synchronize(device: Any = None, /) -> None:
    """Wait until all work that a device was given is done; by default of the current device."""
    functions, index = _place(device)
    functions.synchronize(index)


def get_device_capability(device: Any = None, /) -> dict[str, Any]:
    """What a device can do: ``{"supported_dtypes": set of dtypes}``."""
    functions, index = _place(device)
    runtime = functions.runtime("device control", "get_device_capability")
    return {"supported_dtypes": set(runtime.supported_dtypes(functions.index(index)))}


class device_index:
    """Context manager: make a device of the accelerator the current one; None changes nothing.

    Raises
    ------
    RuntimeError
        When entered with an index, for want of an accelerator.
    """

    def __init__(self, device: int | None, /) -> None:
        self.idx = device
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx is not None:
            self.prev_idx = _functions()._exchange_device(self.idx)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.prev_idx >= 0:
            _functions().set_device(self.prev_idx)


# Memory


def empty_cache() -> None:
    """Give memory that is kept for later back to the devices."""
    _functions().empty_cache()


def empty_host_cache() -> None:
    """Give pinned memory that is kept for later back to the host."""
    _functions().optional("empty_host_cache")()


def memory_stats(device_index: Any = None, /) -> OrderedDict[str, Any]:
    """All figures of a device's allocator, by names such as ``allocated_bytes.all.peak``."""
    functions, index = _place(device_index)
    return functions.memory_stats(index)


def memory_allocated(device_index: Any = None, /) -> int:
    """Bytes in use by tensors on a device."""
    functions, index = _place(device_index)
    return functions.memory_allocated(index)


def max_memory_allocated(device_index: Any = None, /) -> int:
    """The most bytes that were in use by tensors on a device, since the peak was last reset."""
    functions, index = _place(device_index)
    return functions.max_memory_allocated(index)


def memory_reserved(device_index: Any = None, /) -> int:
    """Bytes in use, or kept for later, on a device."""
    functions, index = _place(device_index)
    return functions.memory_reserved(index)


def max_memory_reserved(device_index: Any = None, /) -> int:
    """The most bytes that were in use, or kept for later, on a device, since the peak was last reset."""
    functions, index = _place(device_index)
    return functions.max_memory_reserved(index)


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """(free, total) bytes of a device's memory, all processes counted."""
    functions, index = _place(device_index)
    return functions.mem_get_info(index)


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Let the figures named peak start from the current ones."""
    functions, index = _place(device_index)
    functions.reset_peak_memory_stats(index)


def reset_accumulated_memory_stats(device_index: Any = None, /) -> None:
    """Let the figures that only grow start from 0."""
    functions, index = _place(device_index)
    functions.reset_accumulated_memory_stats(index)


# Graphs


class Graph:
    """Work that was recorded instead of done; as a context manager, records what the current stream is given.

    Parameters
    ----------
    keep_graph
        Whether the recorded work stays changeable; not supported.
    pool
        Where its memory comes from: another graph's ``pool()``.
    capture_error_mode : {"default", "global", "thread_local", "relaxed"}
        Which threads' calls that cannot be recorded end the recording with an error.
    """

    def __init__(self, keep_graph: bool = False, *, pool: Any = None, capture_error_mode: str = "default") -> None:
        self._graph = _functions().Graph(keep_graph)
        self.graph_pool = pool
        self.capture_error_mode = capture_error_mode

    def capture_begin(self) -> None:
        """Record from here on what the current stream is given."""
        mode = "global" if self.capture_error_mode == "default" else self.capture_error_mode
        self._graph.capture_begin(self.graph_pool, mode)

    def capture_end(self) -> None:
        """End the recording."""
        self._graph.capture_end()

    def replay(self) -> None:
        """Give the recorded work to the current stream."""
        self._graph.replay()

    def reset(self) -> None:
        """Forget the recorded work and release its memory."""
        self._graph.reset()

    def pool(self) -> Any:
        """What other graphs may be given as `pool`, to share this one's memory."""
        return self._graph.pool()

    def __enter__(self) -> None:
        synchronize()
        empty_cache()
        self.capture_begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.capture_end()


_MEMORY = (
    empty_cache, empty_host_cache, get_memory_info, max_memory_allocated, max_memory_reserved, memory_allocated,
    memory_reserved, memory_stats, reset_accumulated_memory_stats, reset_peak_memory_stats,
)  # fmt: skip
__path__: list[str] = []  # its submodules are made here
memory = _device_module.made_module(
    f"{__name__}.memory", "``torch.accelerator.memory``.", {function.__name__: function for function in _MEMORY}
)
graphs = _device_module.made_module(f"{__name__}.graphs", "``torch.accelerator.graphs``.", {"Graph": Graph})
