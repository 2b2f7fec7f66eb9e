"""``torch.backends.cuda``: preferences for CUDA's libraries and for kernels of attention."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = [
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "sdp_kernel",
]


class _MatmulPreferences:
    """How exactly cuBLAS may compute."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    fp32_precision = "none"


matmul = _MatmulPreferences()

_sdp_kernels = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    """Whether mindtorch holds CUDA kernels."""
    return False


def is_flash_attention_available() -> bool:
    """Whether it holds the flash attention kernel for CUDA."""
    return False


def flash_sdp_enabled() -> bool:
    """Whether attention may use the flash kernel, where there is one."""
    return _sdp_kernels["flash"]


def mem_efficient_sdp_enabled() -> bool:
    """Whether attention may use the memory-efficient kernel, where there is one."""
    return _sdp_kernels["mem_efficient"]


def math_sdp_enabled() -> bool:
    """Whether attention may be computed from its formula, as it is on the CPU whatever this says."""
    return _sdp_kernels["math"]


def cudnn_sdp_enabled() -> bool:
    """Whether attention may use cuDNN's kernel, where there is one."""
    return _sdp_kernels["cudnn"]


def enable_flash_sdp(enabled: bool) -> None:
    """Set `flash_sdp_enabled`."""
    _sdp_kernels["flash"] = bool(enabled)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Set `mem_efficient_sdp_enabled`."""
    _sdp_kernels["mem_efficient"] = bool(enabled)


def enable_math_sdp(enabled: bool) -> None:
    """Set `math_sdp_enabled`."""
    _sdp_kernels["math"] = bool(enabled)


def enable_cudnn_sdp(enabled: bool) -> None:
    """Set `cudnn_sdp_enabled`."""
    _sdp_kernels["cudnn"] = bool(enabled)


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """Context manager: set all four preferences."""
    previous = dict(_sdp_kernels)
    _sdp_kernels.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _sdp_kernels.update(previous)
