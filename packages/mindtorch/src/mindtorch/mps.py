"""``torch.mps``: mindtorch serves no Metal device. Questions are answered, work raises PyTorch's ``RuntimeError``."""

from __future__ import annotations

from . import _absent_device

Event = _absent_device.dummy_class("Event")


def is_available() -> bool:
    """Whether there is a Metal device that can be used."""
    return device_count() > 0


def device_count() -> int:
    """How many there are."""
    return _absent_device.count_devices("mps")


_needs_device = _absent_device.refusing(
    RuntimeError, "Cannot execute {name}() without MPS backend: mindtorch serves no Metal device"
)

compile_shader = _needs_device("compile_shader")
current_allocated_memory = _needs_device("current_allocated_memory")
driver_allocated_memory = _needs_device("driver_allocated_memory")
empty_cache = _needs_device("empty_cache")
get_rng_state = _needs_device("get_rng_state")
load_metallib = _needs_device("load_metallib")
manual_seed = _needs_device("manual_seed")
recommended_max_memory = _needs_device("recommended_max_memory")
seed = _needs_device("seed")
set_per_process_memory_fraction = _needs_device("set_per_process_memory_fraction")
set_rng_state = _needs_device("set_rng_state")
synchronize = _needs_device("synchronize")
