"""``torch.cuda``: CUDA devices, by the device runtime of the backend that serves them."""

from __future__ import annotations

import importlib
from typing import Any

from .. import _device_module
from .._errors import AcceleratorError as AcceleratorError
from .._errors import OutOfMemoryError as OutOfMemoryError
from .._lazy import lazy_submodules
from .tensor_types import *  # noqa: F403 - all of it belongs here too, by its __all__

#: What `_absent_parts` refuses, loaded when it is asked for.
_ABSENT = frozenset(
    """
    CudaError DeferredCudaCallError GreenContext caching_allocator_disabled check_error gds green_contexts jiterator
    nccl profiler tunable
    """.split()
)

has_half = True
has_magma = False

_functions = _device_module.fill(
    globals(),
    "cuda",
    optional="""caching_allocator_alloc caching_allocator_delete change_current_allocator clock_rate cudart
        current_blas_handle current_solver_handle device_memory_used get_allocator_backend get_sync_debug_mode
        ipc_collect list_gpu_processes memory_snapshot memory_usage power_draw reset_accumulated_host_memory_stats
        reset_peak_host_memory_stats set_sync_debug_mode temperature use_mem_pool utilization""",
    answers={
        "caching_allocator_enable": None,
        "get_arch_list": [],
        "get_gencode_flags": "",
        "is_tf32_supported": False,
    },
    classes="CUDAPluggableAllocator MemPool",
)

_submodule, __dir__ = lazy_submodules(__name__, "amp nvtx")


def __getattr__(name: str) -> Any:
    if name == "default_generators":
        return _functions.default_generators
    if name in _ABSENT:
        module = importlib.import_module("._absent_parts", __name__)
        return module.MODULES.get(name) or getattr(module, name)
    return _submodule(name)
