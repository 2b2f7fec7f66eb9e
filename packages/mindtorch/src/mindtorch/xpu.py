"""``torch.xpu``: XPU devices, by the device runtime of a backend that serves them."""

from __future__ import annotations

from typing import Any

from . import _device_module

__path__: list[str] = []  # its submodules are made here
_functions = _device_module.fill(
    globals(),
    "xpu",
    without="""ExternalStream default_stream host_memory_stats host_memory_stats_as_nested_dict max_memory_cached
        memory_cached memory_summary reset_max_memory_allocated reset_max_memory_cached""",
    optional="""change_current_allocator clock_rate device_memory_used memory_usage power_draw temperature use_mem_pool
        utilization""",
    answers={"get_arch_list": [], "get_gencode_flags": "", "is_tf32_supported": False, "memory_snapshot": []},
    classes="MemPool XPUPluggableAllocator",
)


def __getattr__(name: str) -> Any:
    if name == "default_generators":
        return _functions.default_generators
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
