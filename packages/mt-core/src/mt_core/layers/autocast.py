"""Autocast: chosen operators compute in another dtype than that of their arguments.

The layer stands above autograd, so that casts are recorded. Which operators, `autocast_lists` says; whether at all,
and with which dtype, each thread says for itself, by device type.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from .. import dtypes
from ..autograd_state import is_grad_enabled
from ..devices import device, device_type_of, third_party_keys
from ..dispatch.dispatcher import register_layer
from ..dispatch.lookup import composite_of
from ..dispatch.registry import Overload, Resolver, forget_all
from ..dtypes import dtype
from ..keys import AUTOCAST, BACKEND_MASK, BACKENDS, META, PRIVATE
from ..plugins.protocols import CONTRACT, FALLTHROUGH
from ..state import effective_keys, excluding, tls
from ..tensor import Tensor
from ..tensor_types import tensors_in
from .autocast_lists import PARTS_ARE_SEEN, lists_of

__all__ = [
    "WITHOUT",
    "AsItWas",
    "Autocast",
    "Settings",
    "is_enabled",
    "known_device",
    "register_casts",
    "set_enabled",
    "settings",
    "withdraw_casts",
]

Callee = Callable[..., Any]

#: Where `lower` is bfloat16 unless set, and float16 elsewhere.
_BFLOAT16 = frozenset("cpu hpu maia xla".split())
#: Device types that PyTorch knows, and has no autocast for.
WITHOUT = frozenset("fpga hip ideep lazy meta mkldnn opencl opengl ve vulkan".split())


class Settings(threading.local):
    """What a thread has switched on.

    Attributes
    ----------
    enabled
        The device types that autocast is on for.
    dtypes
        Device type -> the dtype that was set for it, where one was.
    cache_enabled
        Whether casts of parameters are kept until the outermost `autocast` ends.
    nesting
        How many of them there are.
    """

    def __init__(self) -> None:
        self.enabled: set[str] = set()
        self.dtypes: dict[str, dtype] = {}
        self.cache_enabled = True
        self.nesting = 0
        self._kept: dict[int, tuple[Tensor, Tensor]] = {}

    def dtype_of(self, device_type: str) -> dtype:
        """The dtype that operators in the list `lower` compute in."""
        found = self.dtypes.get(device_type)
        return found or (dtypes.bfloat16 if device_type in _BFLOAT16 else dtypes.float16)

    def forget_casts(self) -> None:
        """Let go of the casts that are kept."""
        self._kept.clear()

    def cast(self, tensor: Tensor, wanted: dtype, lower: dtype) -> Tensor:
        """A tensor in another dtype, recorded; casts of parameters to the dtype `lower` are kept."""
        if wanted is not lower or not self._may_be_kept(tensor):
            return tensor.to(wanted)
        kept = self._kept.get(id(tensor))
        if kept is None or kept[1]._dtype is not wanted:
            kept = self._kept[id(tensor)] = tensor, tensor.to(wanted)
        return kept[1]

    def _may_be_kept(self, tensor: Tensor) -> bool:
        is_parameter = tensor._dtype is dtypes.float32 and tensor.requires_grad and tensor.is_leaf
        return self.cache_enabled and is_parameter and not tensor._is_view() and is_grad_enabled()


settings = Settings()
#: (operator, device type) -> the dtype that a custom operator's tensors are cast to.
_REGISTERED: dict[tuple[str, str], dtype] = {}


class AsItWas:
    """Context manager: autocast as it was in this thread when this object was made."""

    def __init__(self) -> None:
        self._then = _state()

    def __enter__(self) -> None:
        self._before = _state()
        _set_state(self._then)
        settings.nesting += 1

    def __exit__(self, *exc_info: object) -> None:
        settings.nesting -= 1
        if not settings.nesting:
            settings.forget_casts()
        _set_state(self._before)


def _state() -> tuple[set[str], dict[str, dtype], bool]:
    return set(settings.enabled), dict(settings.dtypes), settings.cache_enabled


def _set_state(state: tuple[set[str], dict[str, dtype], bool]) -> None:
    enabled, given, settings.cache_enabled = state
    settings.enabled, settings.dtypes = set(enabled), dict(given)
    _refresh()


def _refresh() -> None:
    """Let the thread's calls come by this layer where there is something to do."""
    tls.include = tls.include | AUTOCAST if settings.enabled else tls.include & ~AUTOCAST
    tls.refresh()


def known_device(device_type: str) -> str:
    """The device type, where there is autocast for it.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    found = device(device_type).type
    if found in WITHOUT:
        raise RuntimeError("unknown device type for autocast in get_autocast_dispatch_key_from_device_type")
    return found


def is_enabled(device_type: str) -> bool:
    """Whether autocast is on for a device type in this thread; it is off inside of what it has cast arguments of."""
    return device_type in settings.enabled and not tls.exclude & AUTOCAST


def set_enabled(device_type: str, enabled: bool) -> None:
    """Switch autocast on or off for a device type, in this thread."""
    if enabled:
        settings.enabled.add(device_type)
    else:
        settings.enabled.discard(device_type)
    _refresh()


def register_casts(operator: str, device_type: str, wanted: dtype) -> None:
    """Floating-point tensors given to ``ns::name`` become `wanted` where autocast is on for their device type."""
    _REGISTERED[operator, device_type] = wanted
    forget_all()


def withdraw_casts(operator: str, device_type: str) -> None:
    """Take back what `register_casts` entered."""
    _REGISTERED.pop((operator, device_type), None)
    forget_all()


class Autocast:
    """The layer: casts the arguments of listed operators, and leaves autocast off while they run."""

    contract = CONTRACT
    dispatch_key = "AUTOCAST"

    def build(self, overload: Overload, call_keys: int, below: Callable[[], Callee]) -> Callee | None:
        """What an operator does where it is in a list of one of the call's devices.

        Forms that write take their arguments as they are, and so does the functional one that carries them out.
        """
        for device_type in _device_types(call_keys):
            casts = _casts_of(overload, device_type)
            if casts is not None:
                is_functional = overload.declaration.form == "functional"
                return _casting(overload, device_type, casts, below) if is_functional else _without_casts(below)
        return None

    def fallback(
        self, overload: Overload, call_keys: int, below: Callable[[], Callee], composite: Callee | None
    ) -> Callee:
        """Unchanged; of what is one operator to PyTorch but made of others here, the parts are not looked at."""
        found = composite_of(overload)
        if found is None:
            return FALLTHROUGH
        return found.function if overload.schema.name in PARTS_ARE_SEEN else _without_casts(below)


def _without_casts(below: Callable[[], Callee]) -> Callee:
    handled = below()

    def run(*args: Any) -> Any:
        with excluding(AUTOCAST):
            return handled(*args)

    return run


def _device_types(call_keys: int) -> Iterator[str]:
    """The device types of a call, the one that carries it out first."""
    found = effective_keys(call_keys) & BACKEND_MASK & ~META
    for key in (*third_party_keys(), *reversed(BACKENDS)):
        if key & found & ~PRIVATE:
            yield device_type_of(key)


#: How the arguments of a call are cast: (arguments, the dtype of `lower`) -> the arguments.
Casts = Callable[[tuple[Any, ...], dtype], Any]


def _casts_of(overload: Overload, device_type: str) -> Casts | None:
    functional = overload.declaration.functional
    name, lists = (functional or overload.name).partition(".")[0], lists_of(device_type)
    wanted = _REGISTERED.get((overload.qualified_name, device_type))
    if wanted is not None:
        return lambda args, lower: _each_cast(args, device_type, wanted, lower)
    if name in lists.refused:
        return _refusing(lists.refused[name])
    if name in lists.lower or overload.name in lists.lower:
        return lambda args, lower: _each_cast(args, device_type, lower, lower)
    if name in lists.full:
        return lambda args, lower: _each_cast(args, device_type, dtypes.float32, lower)
    if name in lists.widest:
        return lambda args, lower: _each_cast(args, device_type, _widest(args, device_type, lower), lower)
    return _result_cast(overload, device_type) if name in lists.result else None


def _casting(overload: Overload, device_type: str, casts: Casts, below: Callable[[], Callee]) -> Callee:
    def run(*args: Any) -> Any:
        if device_type not in settings.enabled:
            return below()(*args)
        with excluding(AUTOCAST):
            args = tuple(casts(args, settings.dtype_of(device_type)))
            return overload.cache[Resolver.call_keys_of(overload, args)](*args)

    return run


def _refusing(text: str) -> Casts:
    def refuse(args: tuple[Any, ...], lower: dtype) -> Any:
        raise RuntimeError(text)

    return refuse


def _is_eligible(value: Any, device_type: str) -> bool:
    return (
        isinstance(value, Tensor)
        and value._dtype.is_floating_point
        and value._dtype is not dtypes.float64
        and value.device.type == device_type
    )


def _each_cast(values: Any, device_type: str, wanted: dtype, lower: dtype) -> list[Any]:
    """Arguments, and the tensors in lists of them, in a dtype."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            value = _each_cast(value, device_type, wanted, lower)
        elif _is_eligible(value, device_type) and value._dtype is not wanted:
            value = settings.cast(value, wanted, lower)
        found.append(value)
    return found


def _widest(args: tuple[Any, ...], device_type: str, lower: dtype) -> dtype:
    """float32 where one of the tensors has it, else `lower`.

    Raises
    ------
    RuntimeError
        In PyTorch's words, for another floating-point type before the first of float32.
    """
    for tensor in tensors_in(args):
        if not _is_eligible(tensor, device_type):
            continue
        if tensor._dtype is dtypes.float32:
            return dtypes.float32
        if tensor._dtype is not lower:
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return lower


def _result_cast(overload: Overload, device_type: str) -> Casts:
    """float32 as the argument `dtype` where it is not given; where there is none, float32 arguments."""
    at = next((i for i, a in enumerate(overload.schema.arguments) if a.name == "dtype"), None)
    if at is None:
        return lambda args, lower: _each_cast(args, device_type, dtypes.float32, lower)

    def cast(args: tuple[Any, ...], lower: dtype) -> Any:
        if args[at] is not None or not _is_eligible(args[0], device_type):
            return args
        return (*args[:at], dtypes.float32, *args[at + 1 :])

    return cast


register_layer(AUTOCAST, Autocast())
