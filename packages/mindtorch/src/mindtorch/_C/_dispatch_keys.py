"""``torch._C.DispatchKey`` and ``DispatchKeySet``: what takes part in a call, by PyTorch's names."""

from __future__ import annotations

import enum
from typing import Any

from mt_core import Tensor
from mt_core.devices import device
from mt_core.keys import ADINPLACE_OR_VIEW, AUTOCAST, AUTOGRAD, CONJUGATE, INFERENCE, NEGATIVE, PROFILED, PYTHON
from mt_core.python_dispatch import mode_of_kind
from mt_core.state import tls
from mt_library.dispatch_keys import key_of_device_type
from mt_library.key_sets import DEVICES, KEY_BITS, DispatchKey, DispatchKeySet, key_set
from mt_library.ops import python_kernels

__all__ = ["DispatchKey", "DispatchKeySet"]

#: Bit of the core -> what PyTorch calls it.
_NAMES = {
    PYTHON: "Python", CONJUGATE: "Conjugate", NEGATIVE: "Negative", ADINPLACE_OR_VIEW: "ADInplaceOrView",
}  # fmt: skip


def _dispatch_keys(tensor: Tensor) -> DispatchKeySet:
    """The keys that PyTorch gives such a tensor; those of autograd whether or not it requires grad."""
    backend = key_of_device_type(tensor.device.type)
    names = [backend, *(name for bit, name in _NAMES.items() if tensor._keys & bit)]
    if tensor._keys & PYTHON:
        names.append("PythonTLSSnapshot")
    if not tensor._keys & INFERENCE:
        names += ["ADInplaceOrView", f"Autograd{backend}"]
    if f"Autocast{backend}" in DispatchKey.__members__:
        names.append(f"Autocast{backend}")
    return key_set(DispatchKey[name] for name in names)


def _dispatch_key_set(tensor: Tensor) -> str:
    """The keys of a tensor, as text."""
    return repr(_dispatch_keys(tensor))


def _dispatch_key_parse(name: str) -> Any:
    """The key of a name.

    Raises
    ------
    RuntimeError
        For a name that no key has.
    """
    if name not in DispatchKey.__members__:
        raise RuntimeError(f"could not parse dispatch key: {name}")
    return DispatchKey[name]


def _dispatch_key_name(key: Any) -> str:
    """The name of a key."""
    return key.name  # type: ignore[no-any-return]


def _dispatch_key_for_device(device_type: str) -> str:
    """The name of the key of a device type's kernels."""
    return key_of_device_type(device(device_type).type)


# Guards

#: What PyTorch adds to all calls.
_OF_ALL_CALLS = ("BackendSelect", "ADInplaceOrView")


def bit_of(key: Any) -> int:
    """The core's bit of a key.

    Raises
    ------
    NotImplementedError
        Where the core has none that could be left out or added by itself.
    """
    for bit, name in _NAMES.items():
        if key.name == name:
            return bit
    if key.name.startswith("Autograd"):
        return AUTOGRAD
    if key.name.startswith("Autocast"):
        return AUTOCAST
    raise NotImplementedError(f"the dispatch key {key.name} cannot be included or excluded by itself")


class _Guard:
    """Leaves keys out of the calls of this thread, or adds them: from its making, until it is deleted or left."""

    def __init__(self, exclude: int, include: int = 0) -> None:
        self._previous = tls.exclude, tls.include
        tls.exclude |= exclude
        tls.include |= include
        tls.refresh()
        self._holds = True

    def _end(self) -> None:
        if self._holds:
            self._holds = False
            tls.exclude, tls.include = self._previous
            tls.refresh()

    def __enter__(self) -> None:
        """It holds already."""

    def __exit__(self, *exception: Any) -> None:
        self._end()

    def __del__(self) -> None:
        if hasattr(self, "_holds"):
            self._end()


def _bits(keys: DispatchKeySet) -> int:
    found = 0
    for key in keys:
        found |= bit_of(key)
    return found


class _ExcludeDispatchKeyGuard(_Guard):
    """Leaves the keys of a set out."""

    def __init__(self, keys: DispatchKeySet) -> None:
        super().__init__(_bits(keys))


class _IncludeDispatchKeyGuard(_Guard):
    """Adds a key."""

    def __init__(self, key: Any) -> None:
        super().__init__(0, bit_of(key))


class _AutoDispatchBelowAutograd(_Guard):
    """Nothing is recorded, and calls go on below autograd."""

    def __init__(self) -> None:
        super().__init__(AUTOGRAD)


class _ForceDispatchKeyGuard(_Guard):
    """Adds the keys of one set, leaves those of another out, and no others.

    Autocast is off where its keys are left out. What PyTorch has no key for stays as it is.
    """

    def __init__(self, include: DispatchKeySet, exclude: DispatchKeySet) -> None:
        super().__init__(0)
        added = key_set(key for key in include if key.name not in _OF_ALL_CALLS)
        left_out = [key for key in exclude if not key.name.startswith("Autocast")]
        stays = ~(sum(_NAMES) | AUTOGRAD)
        tls.exclude = tls.exclude & stays | _bits(key_set(left_out))
        tls.include = tls.include & (stays | ADINPLACE_OR_VIEW | PROFILED) | _bits(added)
        if len(left_out) < len([*exclude]):
            tls.include &= ~AUTOCAST
        tls.refresh()


class _SetExcludeDispatchKeyGuard(_Guard):
    """Leaves a key out, or lets it in again."""

    def __init__(self, key: Any, set_excluded: bool) -> None:
        super().__init__(bit_of(key) if set_excluded else 0)
        if not set_excluded:
            tls.exclude &= ~bit_of(key)
            tls.refresh()


class _PreserveDispatchKeyGuard(_Guard):
    """Puts back at its end what this thread adds and leaves out."""

    def __init__(self) -> None:
        super().__init__(0)


class _AutoDispatchBelowADInplaceOrView(_Guard):
    """Calls go on below what counts versions and links views."""

    def __init__(self) -> None:
        super().__init__(AUTOGRAD | ADINPLACE_OR_VIEW)


class ExcludeDispatchKeyGuard(_ExcludeDispatchKeyGuard):
    """Leaves the keys of a set out."""

    __module__ = "torch"  # where PyTorch says it is


class _DisableTorchDispatch(_Guard):
    """Neither modes nor classes are handed operators."""

    def __init__(self) -> None:
        super().__init__(PYTHON)


def _dispatch_tls_is_dispatch_key_excluded(key: Any) -> bool:
    """Whether this thread leaves a key out."""
    return bool(tls.exclude & bit_of(key))


def _dispatch_tls_is_dispatch_key_included(key: Any) -> bool:
    """Whether this thread adds a key."""
    if getattr(key, "name", key) == "PythonDispatcher":
        return python_kernels.depth > 0
    return bool(tls.include & bit_of(key))


def _dispatch_tls_set_dispatch_key_excluded(key: Any, excluded: bool) -> None:
    """Leave a key out in this thread, or let it in again."""
    tls.exclude = tls.exclude | bit_of(key) if excluded else tls.exclude & ~bit_of(key)
    tls.refresh()


def _dispatch_tls_set_dispatch_key_included(key: Any, included: bool) -> None:
    """Add a key in this thread, or no longer."""
    tls.include = tls.include | bit_of(key) if included else tls.include & ~bit_of(key)
    tls.refresh()


def _names_of(bits: int) -> list[str]:
    """What PyTorch calls the core's keys; of autograd, its key for every device."""
    found = [name for bit, name in _NAMES.items() if bits & bit]
    if bits & AUTOGRAD:
        found += [f"Autograd{device_name}" for device_name in DEVICES]
    return found


def _dispatch_tls_local_include_set() -> DispatchKeySet:
    """The keys that this thread adds; PyTorch adds ``BackendSelect`` and ``ADInplaceOrView`` to all calls."""
    names = ["BackendSelect", "ADInplaceOrView", *_names_of(tls.include)]
    if tls.exclude & ADINPLACE_OR_VIEW:
        names.remove("ADInplaceOrView")
    return key_set(DispatchKey[name] for name in names)


def _dispatch_tls_local_exclude_set() -> DispatchKeySet:
    """The keys that this thread leaves out; those of autocast are where it is off."""
    names = _names_of(tls.exclude)
    if not tls.include & AUTOCAST:
        names += [name for name in DispatchKey.__members__ if name.startswith("Autocast")]
    return key_set(DispatchKey[name] for name in names)


def _dispatch_keyset_full() -> DispatchKeySet:
    """All keys."""
    return key_set(DispatchKey[name] for name in KEY_BITS)


def _dispatch_keyset_full_after(key: Any) -> DispatchKeySet:
    """The keys that see a call after a key."""
    before = [*_dispatch_keyset_full()]
    return key_set(before[: before.index(key)]) if key in before else key_set(())


def _dispatch_keyset_to_string(keys: DispatchKeySet) -> str:
    """The keys of a set, as text."""
    return repr(keys)


def _dispatch_get_backend_keyset_from_autograd(key: Any) -> DispatchKeySet:
    """The key of the device of an autograd key."""
    name = key.name.removeprefix("Autograd")
    return key_set([DispatchKey[name]] if name in DEVICES else [])


# The stack of modes


class _TorchDispatchModeKey(enum.Enum):
    """Kinds of modes of PyTorch's own, of which a thread has one each: the lower the number, the later it is asked."""

    FAKE = 0
    PROXY = 1
    FUNCTIONAL = 2


def _get_dispatch_mode(key: _TorchDispatchModeKey) -> Any:
    """The mode of one of PyTorch's own kinds that is on in this thread; None without one."""
    if not isinstance(key, _TorchDispatchModeKey):
        raise RuntimeError(f"_get_dispatch_mode(): expected a _TorchDispatchModeKey, but got {type(key)}")
    return mode_of_kind(key)


def _len_torch_dispatch_stack() -> int:
    """How many dispatch modes are on in this thread."""
    return len(tls.dispatch_modes)


def _get_dispatch_stack_at(index: int) -> Any:
    """The dispatch mode at a place in the stack of this thread, the outermost at 0."""
    return tls.dispatch_modes[index]


_after_autograd_keyset = _dispatch_keyset_full_after(DispatchKey.AutogradOther)
_after_ADInplaceOrView_keyset = _dispatch_keyset_full_after(DispatchKey.ADInplaceOrView)
