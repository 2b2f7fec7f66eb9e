"""``torch.backends.cuda``: preferences for CUDA's libraries, and the switches of attention on every device."""

import contextlib
import warnings
from collections.abc import Iterator

from mt_core import attention_switches as switches
from mt_core.plugins.runtime_access import count_devices

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


def is_built() -> bool:
    """Whether there is a backend with CUDA kernels that sees a device."""
    return count_devices("cuda") > 0


def is_flash_attention_available() -> bool:
    """Whether it holds the flash attention kernel for CUDA."""
    return False


def flash_sdp_enabled() -> bool:
    """Whether attention may use the flash kernel, where there is one."""
    return switches.is_enabled("flash")


def mem_efficient_sdp_enabled() -> bool:
    """Whether attention may use the memory-efficient kernel, where there is one."""
    return switches.is_enabled("mem_efficient")


def math_sdp_enabled() -> bool:
    """Whether attention may be computed by its formula; see `mt_core.attention_switches.check_allowed`."""
    return switches.is_enabled("math")


def cudnn_sdp_enabled() -> bool:
    """Whether attention may use cuDNN's kernel, where there is one."""
    return switches.is_enabled("cudnn")


def enable_flash_sdp(enabled: bool) -> None:
    """Set `flash_sdp_enabled`."""
    switches.enable("flash", enabled)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Set `mem_efficient_sdp_enabled`."""
    switches.enable("mem_efficient", enabled)


def enable_math_sdp(enabled: bool) -> None:
    """Set `math_sdp_enabled`."""
    switches.enable("math", enabled)


def enable_cudnn_sdp(enabled: bool) -> None:
    """Set `cudnn_sdp_enabled`."""
    switches.enable("cudnn", enabled)


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """Context manager: set all four preferences; deprecated for `torch.nn.attention.sdpa_kernel`."""
    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please "
        "see `torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature",
        FutureWarning,
        stacklevel=3,
    )
    wanted = {
        "flash": enable_flash, "math": enable_math, "mem_efficient": enable_mem_efficient, "cudnn": enable_cudnn
    }  # fmt: skip
    previous = {name: switches.is_enabled(name) for name in wanted}
    _enable_all(wanted)
    try:
        yield
    finally:
        _enable_all(previous)


def _enable_all(wanted: dict[str, bool]) -> None:
    for name, enabled in wanted.items():
        switches.enable(name, enabled)
