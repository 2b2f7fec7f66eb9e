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


_absent_device.refusing(
    globals(),
    """
    compile_shader current_allocated_memory driver_allocated_memory empty_cache get_rng_state load_metallib manual_seed
    recommended_max_memory seed set_per_process_memory_fraction set_rng_state synchronize
    """,
    RuntimeError,
    "Cannot execute {name}() without MPS backend: mindtorch serves no Metal device",
)
