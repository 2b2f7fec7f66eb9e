"""``torch.mtia``: MTIA devices, by the device runtime of a backend that serves them."""

from __future__ import annotations

from typing import Any

from mt_core import Tensor
from mt_core.streams import Event as Event
from mt_core.streams import Stream as Stream

from . import _device_module

__path__: list[str] = []  # its submodules are made here
_functions = _device_module.fill(
    globals(),
    "mtia",
    without="""Event ExternalStream Stream can_device_access_peer get_device_name get_per_process_memory_fraction
        get_stream_from_external host_memory_stats host_memory_stats_as_nested_dict is_current_stream_capturing
        make_graphed_callables max_memory_cached max_memory_reserved mem_get_info memory_cached memory_reserved
        memory_stats_as_nested_dict memory_summary reset_accumulated_memory_stats reset_max_memory_allocated
        reset_max_memory_cached set_per_process_memory_fraction streams""",
    optional="attach_out_of_memory_observer record_memory_history snapshot",
)
current_stream = _functions.current_stream
default_stream = _functions.default_stream
set_stream = _functions.set_stream


def _present(function: str) -> _device_module.DeviceModule:
    """The functions, for one that raises without a device, unlike those of other device types.

    Raises
    ------
    RuntimeError
    """
    if not _functions.device_count():
        raise _functions.absence.error(function)
    return _functions


class StreamContext(_functions.StreamContext):  # type: ignore[name-defined, misc]
    """Context manager: give work to a stream, whose device is the current one meanwhile; None changes nothing."""

    def __init__(self, stream: Any) -> None:
        _present("stream")
        super().__init__(stream)


def stream(stream: Any) -> StreamContext:
    """A `StreamContext`."""
    return StreamContext(stream)


def empty_cache() -> None:
    """Give memory that is kept for later back to the devices."""
    _present("empty_cache").empty_cache()


def set_rng_state(new_state: Tensor, device: Any = "mtia") -> None:
    """Continue a device's random stream from a state."""
    _present("set_rng_state").set_rng_state(new_state, device)


def __getattr__(name: str) -> Any:
    if name == "default_generators":
        return _functions.default_generators
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
