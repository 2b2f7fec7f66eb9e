"""``torch.accelerator``: the device of this machine that is not its CPU, if a backend for one sees it."""

from __future__ import annotations

from typing import Any

from mt_core import device as _device

from . import _absent_device

_TYPES = ("cuda", "npu", "xpu", "mps", "mtia")
_NONE = "Cannot access accelerator device when none is available."


def current_accelerator(check_available: bool = False) -> _device | None:
    """The device, without an index; None when there is none."""
    for device_type in _TYPES:
        if _absent_device.count_devices(device_type):
            return _device(device_type)
    return None


def is_available() -> bool:
    """Whether there is one."""
    return current_accelerator() is not None


def device_count() -> int:
    """How many devices of its type can be used."""
    accelerator = current_accelerator()
    return 0 if accelerator is None else _absent_device.count_devices(accelerator.type)


_needs_device = _absent_device.refusing(RuntimeError, _NONE)

current_device_idx = _needs_device("current_device_idx")
current_device_index = _needs_device("current_device_index")
current_stream = _needs_device("current_stream")
empty_cache = _needs_device("empty_cache")
get_device_capability = _needs_device("get_device_capability")
get_memory_info = _needs_device("get_memory_info")
max_memory_allocated = _needs_device("max_memory_allocated")
max_memory_reserved = _needs_device("max_memory_reserved")
memory_allocated = _needs_device("memory_allocated")
memory_reserved = _needs_device("memory_reserved")
memory_stats = _needs_device("memory_stats")
reset_accumulated_memory_stats = _needs_device("reset_accumulated_memory_stats")
reset_peak_memory_stats = _needs_device("reset_peak_memory_stats")
set_device_idx = _needs_device("set_device_idx")
set_device_index = _needs_device("set_device_index")
set_stream = _needs_device("set_stream")
synchronize = _needs_device("synchronize")


class device_index:
    """Context manager: make a device of the accelerator the current one; None changes nothing.

    Raises
    ------
    RuntimeError
        When entered with an index, for want of an accelerator.
    """

    def __init__(self, device: int | None) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            raise RuntimeError(_NONE)

    def __exit__(self, *exc_info: Any) -> None:
        """There is nothing to undo."""
