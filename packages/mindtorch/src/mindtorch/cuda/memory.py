"""``torch.cuda.memory``: statistics of memory of which none was allocated."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .. import _absent_device
from ._message import NOT_ENABLED

__all__ = [
    "CUDAPluggableAllocator",
    "MemPool",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "change_current_allocator",
    "empty_cache",
    "get_allocator_backend",
    "get_per_process_memory_fraction",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
    "use_mem_pool",
]

CUDAPluggableAllocator = _absent_device.dummy_class("CUDAPluggableAllocator")
MemPool = _absent_device.dummy_class("MemPool")


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


memory_cached = memory_reserved
max_memory_cached = max_memory_reserved


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Statistics of a device's memory: none."""
    return OrderedDict()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Statistics of a device's memory: none."""
    return {}


_needs_device = _absent_device.refusing(AssertionError, NOT_ENABLED)

caching_allocator_alloc = _needs_device("caching_allocator_alloc")
caching_allocator_delete = _needs_device("caching_allocator_delete")
change_current_allocator = _needs_device("change_current_allocator")
get_allocator_backend = _needs_device("get_allocator_backend")
get_per_process_memory_fraction = _needs_device("get_per_process_memory_fraction")
mem_get_info = _needs_device("mem_get_info")
memory_snapshot = _needs_device("memory_snapshot")
memory_summary = _needs_device("memory_summary")
reset_accumulated_memory_stats = _needs_device("reset_accumulated_memory_stats")
reset_max_memory_allocated = _needs_device("reset_max_memory_allocated")
reset_max_memory_cached = _needs_device("reset_max_memory_cached")
reset_peak_memory_stats = _needs_device("reset_peak_memory_stats")
set_per_process_memory_fraction = _needs_device("set_per_process_memory_fraction")
use_mem_pool = _needs_device("use_mem_pool")
