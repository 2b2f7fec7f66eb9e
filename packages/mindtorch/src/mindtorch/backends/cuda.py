"""``torch.backends.cuda``: preferences for CUDA's libraries, and the switches of attention on every device."""

import contextlib
import warnings
from collections.abc import Iterator

from mt_core import attention_switches as switches
from mt_core.plugins.runtime_access import count_devices

from .._unsupported import unsupported_class, unsupported_function

__all__ = [
    "SDPAParams",
    "allow_fp16_bf16_reduction_math_sdp",
    "blas_workspace_size",
    "can_use_cudnn_attention",
    "can_use_efficient_attention",
    "can_use_flash_attention",
    "cuBLASModule",
    "cuFFTPlanCache",
    "cuFFTPlanCacheAttrContextProp",
    "cuFFTPlanCacheManager",
    "cublas_workspace_size",
    "cublaslt_workspace_size",
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_ck_sdpa_available",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "preferred_rocm_fa_library",
    "sdp_kernel",
]


_LIBRARIES = "Which library computes is the backend's to choose."
SDPAParams = unsupported_class("torch.backends.cuda.SDPAParams", _LIBRARIES)
cuBLASModule = unsupported_class("torch.backends.cuda.cuBLASModule", _LIBRARIES)
cuFFTPlanCache = unsupported_class("torch.backends.cuda.cuFFTPlanCache", _LIBRARIES)
cuFFTPlanCacheAttrContextProp = unsupported_class("torch.backends.cuda.cuFFTPlanCacheAttrContextProp", _LIBRARIES)
cuFFTPlanCacheManager = unsupported_class("torch.backends.cuda.cuFFTPlanCacheManager", _LIBRARIES)
allow_fp16_bf16_reduction_math_sdp = unsupported_function(
    "torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp", _LIBRARIES
)
blas_workspace_size = unsupported_function("torch.backends.cuda.blas_workspace_size", _LIBRARIES)
cublas_workspace_size = unsupported_function("torch.backends.cuda.cublas_workspace_size", _LIBRARIES)
cublaslt_workspace_size = unsupported_function("torch.backends.cuda.cublaslt_workspace_size", _LIBRARIES)
fp16_bf16_reduction_math_sdp_allowed = unsupported_function(
    "torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed", _LIBRARIES
)
preferred_blas_library = unsupported_function("torch.backends.cuda.preferred_blas_library", _LIBRARIES)
preferred_linalg_library = unsupported_function("torch.backends.cuda.preferred_linalg_library", _LIBRARIES)
preferred_rocm_fa_library = unsupported_function("torch.backends.cuda.preferred_rocm_fa_library", _LIBRARIES)


def is_ck_sdpa_available() -> bool:
    """Whether attention can be computed by AMD's library: it cannot."""
    return False


def can_use_flash_attention(params: object, debug: bool = False) -> bool:
    """Whether attention is computed in blocks: there is one implementation, by the formula."""
    return False


def can_use_efficient_attention(params: object, debug: bool = False) -> bool:
    """Whether attention is computed in a way that needs less memory: there is one implementation, by the formula."""
    return False


def can_use_cudnn_attention(params: object, debug: bool = False) -> bool:
    """Whether attention is computed by cuDNN: there is one implementation, by the formula."""
    return False


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
