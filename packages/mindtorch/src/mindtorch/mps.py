"""``torch.mps``: a Metal device, by the device runtime of a backend that serves it."""

from __future__ import annotations

from typing import Any

from mt_core import Tensor

from . import _device_module

_functions = _device_module.device_functions("mps")

is_available = _functions.is_available
device_count = _functions.device_count
synchronize = _functions.synchronize
manual_seed = _functions.manual_seed
set_per_process_memory_fraction = _functions.set_per_process_memory_fraction
compile_shader = _functions.optional("compile_shader")
load_metallib = _functions.optional("load_metallib")


class Event(_functions.Event):  # type: ignore[name-defined, misc]
    """A point in the device's work; see `torch.Event`."""

    __slots__ = ()

    def __init__(self, enable_timing: bool = False) -> None:
        super().__init__(enable_timing)


def _present(function: str) -> _device_module.DeviceModule:
    """The functions, for one that raises without a device, unlike those of other device types.

    Raises
    ------
    RuntimeError
    """
    if not device_count():
        raise _functions.absence.error(function)
    return _functions


def current_allocated_memory() -> int:
    """Bytes in use by tensors."""
    return _present("current_allocated_memory").memory_allocated()


def driver_allocated_memory() -> int:
    """Bytes in use, or kept for later."""
    return _present("driver_allocated_memory").memory_reserved()


def recommended_max_memory() -> int:
    """Bytes of the device's memory."""
    return _present("recommended_max_memory").mem_get_info()[1]


def empty_cache() -> None:
    """Give memory that is kept for later back to the device."""
    _present("empty_cache").empty_cache()


def seed() -> None:
    """Start the random stream of an unpredictable seed."""
    _present("seed").seed()


def get_rng_state(device: Any = "mps") -> Tensor:
    """A copy of the state of the random stream."""
    return _present("get_rng_state").get_rng_state(device)


def set_rng_state(new_state: Tensor, device: Any = "mps") -> None:
    """Continue the random stream from a state."""
    _present("set_rng_state").set_rng_state(new_state, device)
