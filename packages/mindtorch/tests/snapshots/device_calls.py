"""How each function of a device module is called, and what is kept of the outcome; for PyTorch and for mindtorch."""

from __future__ import annotations

from typing import Any

__all__ = ["ARGUMENTS", "MODULES", "outcome"]

MODULES = ("cuda", "xpu", "mps", "mtia", "accelerator")

#: Name -> its arguments, as text in which `torch` is the library; the others are called without arguments.
ARGUMENTS = {
    "CUDAPluggableAllocator": "'a', 'b', 'c'", "ExternalStream": "0, 0", "StreamContext": "None",
    "XPUPluggableAllocator": "'a', 'b', 'c'", "_exchange_device": "0", "_maybe_exchange_device": "0",
    "attach_out_of_memory_observer": "len", "caching_allocator_alloc": "8", "caching_allocator_delete": "0",
    "can_device_access_peer": "0, 1", "change_current_allocator": "None", "check_error": "0", "compile_shader": "''",
    "current_stream": "None", "device": "0", "device_index": "0", "device_of": "torch.ones(2)",
    "get_stream_from_external": "0", "graph": "None", "load_metallib": "''", "make_graphed_callables": "len, ()",
    "manual_seed": "1", "manual_seed_all": "1", "set_device": "0", "set_device_idx": "0", "set_device_index": "0",
    "set_per_process_memory_fraction": "0.5", "set_rng_state": "torch.zeros(16, dtype=torch.uint8)",
    "set_rng_state_all": "[]", "set_stream": "None", "set_sync_debug_mode": "0", "stream": "None", "synchronize": "",
    "use_mem_pool": "None",
}  # fmt: skip


def outcome(torch: Any, module: str, name: str) -> list[str]:
    """["error", type, text], ["value", repr], or ["object"] for what has no telling repr."""
    function = getattr(getattr(torch, module), name)
    try:
        value = eval(f"function({ARGUMENTS.get(name, '')})", {"function": function, "torch": torch})  # noqa: S307
    except Exception as error:  # noqa: BLE001 - whatever it raises is what is compared
        return ["error", type(error).__name__, str(error)]
    plain = value is None or isinstance(value, (bool, int, float, str, list, dict, tuple))
    return ["value", repr(value)] if plain else ["object"]
