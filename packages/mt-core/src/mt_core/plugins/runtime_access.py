"""How the core asks for a device's runtime (`mt_core.plugins.runtime`): which there is, and what it lacks."""

from __future__ import annotations

from typing import Any

from . import discovery

__all__ = [
    "RENAMED",
    "OutOfMemoryError", "accelerator_type", "checked_index", "count_devices", "current_index", "has_part", "no_device",
    "require", "runtime_of",
]  # fmt: skip


#: Names that a program has given to device types (``torch.utils.rename_privateuse1_backend``): PyTorch's -> its own.
RENAMED: dict[str, str] = {}


class OutOfMemoryError(RuntimeError):
    """A device has no memory left for a tensor (``torch.OutOfMemoryError``); `Backend.empty` raises it."""


#: PyTorch's accelerators and NPUs, in the order in which they are preferred when a machine has several.
_ACCELERATORS = ("cuda", "npu", "xpu", "mps", "mtia")


def count_devices(device_type: str) -> int:
    """How many devices of a type can be used: none unless a backend for it is installed, loads, and sees some."""
    if device_type not in discovery.backend_entry_points():
        return 0
    try:
        return int(discovery.find_backend(device_type).device_count())
    except discovery.PluginError:  # its distribution and the cause were told by a warning when it failed to load
        return 0


def runtime_of(device_type: str) -> Any:
    """The runtime of a device type, or None: when its backend has none, and when no backend sees a device.

    A backend without devices has nothing to run, whatever its class offers.
    """
    if not count_devices(device_type):
        return None
    return getattr(discovery.find_backend(device_type), "runtime", None)


def _lacking(runtime: Any, part: str) -> list[str]:
    from .runtime import PARTS  # lazy: making the protocols costs a tenth of `import mindtorch`, and few ask for them

    return [method for method in PARTS[part] if not hasattr(runtime, method)]


def has_part(device_type: str, part: str) -> bool:
    """Whether the runtime of a device type has a part whole; `part` is a key of `PARTS`."""
    runtime = runtime_of(device_type)
    return runtime is not None and not _lacking(runtime, part)


def require(device_type: str, part: str, what: str) -> Any:
    """The runtime of a device type that is needed for `what`, which the error names.

    Raises
    ------
    RuntimeError
        When no backend serves such a device, with the remedy.
    NotImplementedError
        When its backend has no runtime, or the runtime lacks methods of the part.
    """
    if not count_devices(device_type):
        raise RuntimeError(f"{what} needs a device '{device_type}', and none can be used: {_why_none(device_type)}")
    runtime = runtime_of(device_type)
    if runtime is None:
        raise NotImplementedError(
            f"{what} needs {part}, and the backend of device '{device_type}' has no device runtime"
        )
    lacking = _lacking(runtime, part)
    if lacking:
        raise NotImplementedError(
            f"{what} needs {part}, and the device runtime of '{device_type}' lacks {', '.join(lacking)}"
        )
    return runtime


def no_device(device_type: str) -> Exception:
    """The error of ``torch.<device>`` functions without a device: PyTorch's, which is an AssertionError."""
    name = device_type.upper()
    return AssertionError(f"Torch not compiled with {name} enabled: {_why_none(device_type)}, see `mindtorch doctor`")


def _why_none(device_type: str) -> str:
    try:
        found = discovery.find_backend(device_type).diagnose()
    except discovery.PluginError as error:
        return str(error)
    return "; ".join(f"{what}: {state}" for what, state in found)


def current_index(device_type: str) -> int:
    """Index of the current device of a type; 0 where its backend has no runtime that would know another."""
    runtime = runtime_of(device_type)
    return 0 if runtime is None else int(runtime.current_device())


def checked_index(device_type: str, index: int | None) -> int:
    """A device index that exists, the current one for None.

    Raises
    ------
    RuntimeError
        When there is no such device.
    """
    if index is None:
        return current_index(device_type)
    count = count_devices(device_type)
    if not 0 <= index < count:
        found = "is 1 device" if count == 1 else f"are {count} devices"
        raise RuntimeError(f"invalid device ordinal: there {found} of type '{device_type}', and none of index {index}")
    return index


def accelerator_type() -> str | None:
    """The device type of this machine's accelerator; None when there is none.

    The type that the program named (`RENAMED`) comes first, as in PyTorch, then the known accelerators,
    then third parties' types in the order of their names, if their backends have a runtime.
    """
    registered = RENAMED.get("privateuseone")
    if registered is not None and count_devices(registered):
        return registered
    known = next((t for t in _ACCELERATORS if count_devices(t)), None)
    if known is not None:
        return known
    others = sorted(set(discovery.backend_entry_points()) - {"cpu", "meta"})
    return next((t for t in others if runtime_of(t) is not None), None)
