"""``torch.xpu``: mindtorch serves no XPU. Questions are answered, work raises PyTorch's ``AssertionError``."""

from __future__ import annotations

from typing import Any

from . import _absent_device

Event = _absent_device.dummy_class("Event")
Stream = _absent_device.dummy_class("Stream")
XPUGraph = _absent_device.dummy_class("XPUGraph")
MemPool = _absent_device.dummy_class("MemPool")
default_generators: tuple[Any, ...] = ()


def is_available() -> bool:
    """Whether there is an XPU that can be used."""
    return device_count() > 0


def device_count() -> int:
    """How many there are."""
    return _absent_device.count_devices("xpu")


def is_initialized() -> bool:
    """Whether XPUs are in use in this process."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current device computes with bfloat16; False without a device."""
    return False


def is_current_stream_capturing() -> bool:
    """Whether a graph is being captured."""
    return False


def get_arch_list() -> list[str]:
    """The architectures that kernels were compiled for."""
    return []


def empty_cache() -> None:
    """Give back memory that is kept for later; none is."""


def memory_allocated(device: Any = None) -> int:
    """Bytes in use on a device."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that were in use on a device."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """Bytes in use or kept for later on a device."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that were in use or kept for later on a device."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the stream of the current device; without one there is nothing to seed."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the streams of all devices; there are none."""
    int(seed)


def get_rng_state_all() -> list[Any]:
    """The states of the streams of all devices: none."""
    return []


_needs_device = _absent_device.refusing(AssertionError, "Torch not compiled with XPU enabled: mindtorch serves no XPU")

current_device = _needs_device("current_device")
current_stream = _needs_device("current_stream")
device = _needs_device("device")
device_of = _needs_device("device_of")
get_device_capability = _needs_device("get_device_capability")
get_device_name = _needs_device("get_device_name")
get_device_properties = _needs_device("get_device_properties")
get_rng_state = _needs_device("get_rng_state")
graph = _needs_device("graph")
init = _needs_device("init")
initial_seed = _needs_device("initial_seed")
mem_get_info = _needs_device("mem_get_info")
reset_peak_memory_stats = _needs_device("reset_peak_memory_stats")
set_device = _needs_device("set_device")
set_rng_state = _needs_device("set_rng_state")
set_stream = _needs_device("set_stream")
stream = _needs_device("stream")
synchronize = _needs_device("synchronize")
