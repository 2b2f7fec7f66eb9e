"""``torch.autocast``: switched off it works, switched on it is not supported yet."""

import functools
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any

import mt_core
from mt_core import device as _device
from mt_core.plugins import runtime_access

from .._unsupported import refusal

__all__ = [
    "autocast",
    "clear_autocast_cache",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
]

_ACCELERATORS = ("cuda", "npu", "xpu", "mps", "mtia", "hpu", "maia", "xla")
_REMEDY = "Convert the model and its inputs with .to(torch.bfloat16), or pass enabled=False."


class autocast:
    """Context manager and decorator; ``enabled=False`` is the only state that this version supports.

    For an accelerator that is not there it warns and is switched off, as in PyTorch.

    Raises
    ------
    NotImplementedError
        When it is switched on for a device that can be used.
    ValueError, RuntimeError
        When `device_type` is no string, or no device type.
    """

    def __init__(
        self,
        device_type: str,
        dtype: mt_core.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = _device(device_type).type
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        self._enabled = bool(enabled) and self._usable()
        if self._enabled:
            raise refusal(f"torch.autocast('{self.device}')", _REMEDY)

    def _usable(self) -> bool:
        if self.device not in _ACCELERATORS or runtime_access.count_devices(self.device):
            return True
        text = f"User provided device_type of '{self.device}', but {self.device.upper()} is not available. Disabling"
        warnings.warn("CUDA is not available. Disabling autocast." if self.device == "cuda" else text, stacklevel=4)
        return False

    def __enter__(self) -> "autocast":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """There is nothing to undo."""

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return decorated


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast` can be switched on for a device type: for none yet."""
    _device(device_type)
    return False


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocasting is on in this thread."""
    if device_type is not None:
        _device(device_type)
    return False


def is_autocast_cpu_enabled() -> bool:
    """Whether autocasting is on for the CPU in this thread."""
    return False


def get_autocast_dtype(device_type: str) -> mt_core.dtype:
    """The dtype that autocasting chooses for a device type by default."""
    return mt_core.bfloat16 if _device(device_type).type in ("cpu", "mtia", "xla", "hpu") else mt_core.float16


def get_autocast_cpu_dtype() -> mt_core.dtype:
    """`get_autocast_dtype` for the CPU."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> mt_core.dtype:
    """`get_autocast_dtype` for CUDA."""
    return get_autocast_dtype("cuda")


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters would be kept for reuse."""
    return True


def clear_autocast_cache() -> None:
    """Forget casts that were kept; there are none."""


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: mt_core.dtype | None = None
) -> Callable[..., Any]:
    """Decorate ``forward`` of an ``autograd.Function``: outside of autocast, which is everywhere, it runs as it is."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = get_autocast_dtype(device_type)
        args[0]._fwd_used_autocast = False
        return fwd(*args, **kwargs)

    return decorated


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate ``backward`` of an ``autograd.Function`` whose forward has `custom_fwd`; it runs as it is."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        return bwd(*args, **kwargs)

    return decorated
