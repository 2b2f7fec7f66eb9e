"""``torch.autocast``: chosen operators compute in another dtype (`mt_core.layers.autocast`)."""

import functools
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any

import mt_core
from mt_core import device as _device
from mt_core.layers.autocast import WITHOUT, is_enabled, known_device, set_enabled, settings
from mt_core.plugins import runtime_access

__all__ = [
    "autocast",
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "get_autocast_ipu_dtype",
    "get_autocast_xla_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "is_autocast_ipu_enabled",
    "is_autocast_xla_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_autocast_gpu_dtype",
    "set_autocast_ipu_dtype",
    "set_autocast_ipu_enabled",
    "set_autocast_xla_dtype",
    "set_autocast_xla_enabled",
]

_ACCELERATORS = ("cuda", "npu", "xpu", "mps", "mtia", "hpu", "maia", "xla")
_HALVES = (mt_core.bfloat16, mt_core.float16)


class autocast:
    """Context manager and decorator: chosen operators compute in a half type, others in float32, in this thread.

    For an accelerator that is not there, and for a dtype that there is no autocast to, it warns and is switched off, as
    in PyTorch.

    Parameters
    ----------
    device_type
        ``"cpu"``, ``"cuda"``, ``"npu"`` or a third party's.
    dtype
        What the operators of the first kind compute in; see `get_autocast_dtype` for the default.
    enabled
        False switches autocast off, also inside of another.
    cache_enabled
        Whether casts of parameters are kept until the outermost one ends.

    Raises
    ------
    ValueError, RuntimeError
        When `device_type` is no string, or no device type that has autocast.
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
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        self._type = known_device(device_type)
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._enabled = bool(enabled) and self._usable()
        self._before: list[tuple[bool, mt_core.dtype | None, bool]] = []

    def _usable(self) -> bool:
        if self._type in _ACCELERATORS and not runtime_access.count_devices(self._type):
            text = f"User provided device_type of '{self.device}', but {self._type.upper()} is not available. Disabling"
            if self._type == "cuda":
                text = "CUDA is not available or torch_xla is imported. Disabling autocast."
        elif self.fast_dtype not in _HALVES:
            name = self._type.upper()
            text = (
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )
        else:
            return True
        warnings.warn(text, stacklevel=4)
        return False

    def __enter__(self) -> "autocast":
        before = self._type in settings.enabled, settings.dtypes.get(self._type), settings.cache_enabled
        self._before.append(before)
        settings.dtypes[self._type] = self.fast_dtype
        settings.cache_enabled = self._cache_enabled
        settings.nesting += 1
        set_enabled(self._type, self._enabled)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        autocast_decrement_nesting()
        enabled, dtype, settings.cache_enabled = self._before.pop()
        set_enabled(self._type, enabled)
        if dtype is None:
            del settings.dtypes[self._type]
        else:
            settings.dtypes[self._type] = dtype

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return decorated


def _enter_autocast(*vals: Any) -> autocast:
    """Enter an `autocast` of these arguments, as a step of a graph; what it returns is given to `_exit_autocast`."""
    mode = autocast(*vals)
    mode.__enter__()
    return mode


def _exit_autocast(mode: autocast) -> None:
    """Leave what `_enter_autocast` has entered."""
    mode.__exit__(None, None, None)


def _warn_of_older_name(old: str, new: str) -> None:
    text = f"torch.{old} is deprecated. Please use torch.{new} instead."
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def is_autocast_available(device_type: str) -> bool:
    """Whether there is autocast for a device type, be such a device there or not."""
    return _device(device_type).type not in WITHOUT


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocasting is on in this thread, for CUDA unless told."""
    return is_enabled(known_device("cuda" if device_type is None else device_type))


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Switch autocasting on or off in this thread; with one argument, for CUDA."""
    if enabled is None:
        set_enabled(known_device("cuda"), bool(device_type))
    else:
        set_enabled(known_device(str(device_type)), enabled)


def is_autocast_cpu_enabled() -> bool:
    """Whether autocasting is on for the CPU in this thread."""
    _warn_of_older_name("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """`set_autocast_enabled` for the CPU."""
    _warn_of_older_name("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_enabled("cpu", enabled)


def get_autocast_dtype(device_type: str) -> mt_core.dtype:
    """The dtype that autocasting chooses for a device type: bfloat16 on the CPU, float16 on CUDA, unless set."""
    type_ = _device(device_type).type
    if type_ in WITHOUT:
        raise RuntimeError("unsupported scalarType")
    return settings.dtype_of(type_)


def set_autocast_dtype(device_type: str, dtype: mt_core.dtype) -> None:
    """Choose the dtype for a device type, in this thread."""
    settings.dtypes[known_device(device_type)] = dtype


def get_autocast_cpu_dtype() -> mt_core.dtype:
    """`get_autocast_dtype` for the CPU."""
    _warn_of_older_name("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: mt_core.dtype) -> None:
    """`set_autocast_dtype` for the CPU."""
    _warn_of_older_name("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> mt_core.dtype:
    """`get_autocast_dtype` for CUDA."""
    _warn_of_older_name("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: mt_core.dtype) -> None:
    """`set_autocast_dtype` for CUDA."""
    _warn_of_older_name("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)


def is_autocast_ipu_enabled() -> bool:
    """Whether autocasting is on for Graphcore's devices in this thread."""
    _warn_of_older_name("is_autocast_ipu_enabled()", "is_autocast_enabled('ipu')")
    return is_enabled("ipu")


def set_autocast_ipu_enabled(enabled: bool) -> None:
    """`set_autocast_enabled` for Graphcore's devices."""
    _warn_of_older_name("set_autocast_ipu_enabled(enabled)", "set_autocast_enabled('ipu', enabled)")
    set_enabled("ipu", enabled)


def get_autocast_ipu_dtype() -> mt_core.dtype:
    """`get_autocast_dtype` for Graphcore's devices."""
    _warn_of_older_name("get_autocast_ipu_dtype()", "get_autocast_dtype('ipu')")
    return get_autocast_dtype("ipu")


def set_autocast_ipu_dtype(dtype: mt_core.dtype) -> None:
    """`set_autocast_dtype` for Graphcore's devices."""
    _warn_of_older_name("set_autocast_ipu_dtype(dtype)", "set_autocast_dtype('ipu', dtype)")
    set_autocast_dtype("ipu", dtype)


def is_autocast_xla_enabled() -> bool:
    """Whether autocasting is on for XLA in this thread."""
    _warn_of_older_name("is_autocast_xla_enabled()", "is_autocast_enabled('xla')")
    return is_enabled("xla")


def set_autocast_xla_enabled(enabled: bool) -> None:
    """`set_autocast_enabled` for XLA."""
    _warn_of_older_name("set_autocast_xla_enabled(enabled)", "set_autocast_enabled('xla', enabled)")
    set_enabled("xla", enabled)


def get_autocast_xla_dtype() -> mt_core.dtype:
    """`get_autocast_dtype` for XLA."""
    _warn_of_older_name("get_autocast_xla_dtype()", "get_autocast_dtype('xla')")
    return get_autocast_dtype("xla")


def set_autocast_xla_dtype(dtype: mt_core.dtype) -> None:
    """`set_autocast_dtype` for XLA."""
    _warn_of_older_name("set_autocast_xla_dtype(dtype)", "set_autocast_dtype('xla', dtype)")
    set_autocast_dtype("xla", dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters are kept for reuse."""
    return settings.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Whether casts of parameters are kept for reuse, in this thread."""
    settings.cache_enabled = enabled


def clear_autocast_cache() -> None:
    """Forget the casts that are kept."""
    settings.forget_casts()


def autocast_increment_nesting() -> int:
    """Count one more `autocast` that is open; their number."""
    settings.nesting += 1
    return settings.nesting


def autocast_decrement_nesting() -> int:
    """Count one less `autocast` that is open; their number. With the last, the casts that are kept are forgotten."""
    settings.nesting -= 1
    if not settings.nesting:
        settings.forget_casts()
    return settings.nesting


def _cast(value: Any, device_type: str, dtype: mt_core.dtype) -> Any:
    """Floating-point tensors of a device, but float64, in a dtype; in dicts, lists and tuples too."""
    if isinstance(value, mt_core.Tensor):
        eligible = value.is_floating_point() and value.device.type == device_type and value.dtype != mt_core.float64
        return value.to(dtype) if eligible else value
    if isinstance(value, dict):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, device_type, dtype) for item in value)
    return value


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: mt_core.dtype | None = None
) -> Callable[..., Any]:
    """Decorate ``forward`` of an ``autograd.Function``: its backward then computes under the same autocast.

    With `cast_inputs`, floating-point tensors become that dtype where autocast is on, and it is off inside.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = get_autocast_dtype(device_type)
        args[0]._fwd_used_autocast = cast_inputs is None and is_autocast_enabled(device_type)
        if cast_inputs is None or not is_autocast_enabled(device_type):
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            type_ = known_device(device_type)  # programs may have renamed it
            return fwd(*_cast(args, type_, cast_inputs), **_cast(kwargs, type_, cast_inputs))

    return decorated


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate ``backward`` of an ``autograd.Function`` whose forward has `custom_fwd`: autocast is as it was there."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorated
