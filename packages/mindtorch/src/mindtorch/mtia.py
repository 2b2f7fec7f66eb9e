"""``torch.mtia``: mindtorch serves no MTIA device. Questions are answered, work raises PyTorch's ``RuntimeError``."""

from __future__ import annotations

from . import _absent_device


def is_available() -> bool:
    """Whether there is an MTIA device that can be used."""
    return device_count() > 0


def device_count() -> int:
    """How many there are."""
    return _absent_device.count_devices("mtia")


def is_initialized() -> bool:
    """Whether MTIA devices are in use in this process."""
    return False


_needs_device = _absent_device.refusing(
    RuntimeError, "Cannot execute {name}() without MTIA backend: mindtorch serves no MTIA device"
)

current_device = _needs_device("current_device")
current_stream = _needs_device("current_stream")
default_stream = _needs_device("default_stream")
empty_cache = _needs_device("empty_cache")
get_device_capability = _needs_device("get_device_capability")
get_device_properties = _needs_device("get_device_properties")
init = _needs_device("init")
set_device = _needs_device("set_device")
set_stream = _needs_device("set_stream")
stream = _needs_device("stream")
synchronize = _needs_device("synchronize")
