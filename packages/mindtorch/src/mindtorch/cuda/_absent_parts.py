"""Parts of ``torch.cuda`` that are made for libraries of NVIDIA's that mindtorch does not use: they refuse by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .._device_module import made_module
from .._unsupported import unsupported_class, unsupported_function

__all__ = ["CudaError", "DeferredCudaCallError", "GreenContext", "MODULES", "caching_allocator_disabled", "check_error"]

#: Module -> (reason, functions, classes).
_PARTS = {
    "gds": ("GPUDirect Storage is not used.", "gds_deregister_buffer gds_register_buffer", "GdsFile"),
    "green_contexts": ("Streams are those of the whole device.", "", "GreenContext"),
    "nccl": ("Use torch.distributed.", "all_gather all_reduce broadcast reduce reduce_scatter", ""),
    "profiler": ("Use torch.profiler.", "profile start stop", ""),
    "tunable": (
        "There are no kernels to choose from.",
        """enable get_filename get_max_tuning_duration get_max_tuning_iterations get_results get_rotating_buffer_size
        get_validators is_enabled mgpu_tune_gemm_in_file read_file record_untuned_enable record_untuned_is_enabled
        set_filename set_max_tuning_duration set_max_tuning_iterations set_numerical_check_tolerances
        set_rotating_buffer_size tune_gemm_in_file tuning_enable tuning_is_enabled""",
        "",
    ),
}
#: Every part as a module.
MODULES = {
    part: made_module(
        f"{__package__}.{part}",
        f"``torch.cuda.{part}``: refused. {why}",
        {
            **{name: unsupported_function(f"torch.cuda.{part}.{name}", why) for name in functions.split()},
            **{name: unsupported_class(f"torch.cuda.{part}.{name}", why) for name in classes.split()},
        },
    )
    for part, (why, functions, classes) in _PARTS.items()
}


def _create_jit_fn(code_string: str, **kwargs: Any) -> Callable[..., NoReturn]:
    """What stands for a kernel in CUDA's language; calling it is refused."""
    return unsupported_function("torch.cuda.jiterator", _KERNELS)


def _create_multi_output_jit_fn(code_string: str, num_outputs: int, **kwargs: Any) -> Callable[..., NoReturn]:
    """What stands for a kernel in CUDA's language; calling it is refused."""
    return unsupported_function("torch.cuda.jiterator", _KERNELS)


_KERNELS = "Use torch.library.custom_op."
MODULES["jiterator"] = made_module(
    f"{__package__}.jiterator",
    "``torch.cuda.jiterator``: kernels from code, which are refused when they are called.",
    {"_create_jit_fn": _create_jit_fn, "_create_multi_output_jit_fn": _create_multi_output_jit_fn},
)
GreenContext = MODULES["green_contexts"].GreenContext
caching_allocator_disabled = unsupported_function(
    "torch.cuda.caching_allocator_disabled", "Memory is the backend's to keep."
)
check_error = unsupported_function("torch.cuda.check_error", "Errors of the CUDA runtime are raised where they occur.")


class CudaError(RuntimeError):
    """An error of the CUDA runtime; programs name it in ``except``."""


class DeferredCudaCallError(Exception):
    """What was put off until CUDA is initialized has failed; programs name it in ``except``."""
