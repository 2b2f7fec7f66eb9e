"""The device and type of new tensors that are told no other."""

from typing import Any

import mt_core
from mt_core.deprecation import warn_once
from mt_core.state import tls

from . import _legacy_types

__all__ = ["get_default_device", "set_default_device", "set_default_tensor_type"]


def set_default_device(device: Any) -> None:
    """Make tensors on this device from now on, in this thread; None for the CPU."""
    tls.default_device = None if device is None else mt_core.device(device)


def get_default_device() -> mt_core.device:
    """The device that new tensors are made on: that of the innermost ``with device:``, or `set_default_device`'s."""
    return mt_core.device("cpu") if tls.default_device is None else tls.default_device


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by a type such as ``torch.DoubleTensor``, or its name; deprecated, and warns of it once.

    Raises
    ------
    TypeError
        When it is no such type, or not of floating-point numbers.
    """
    kind = _named(t) if isinstance(t, str) else t
    if not isinstance(kind, _legacy_types.tensortype):
        raise TypeError(f"invalid type object: {t!r}")
    if not kind.dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives.",
    )
    mt_core.set_default_dtype(kind.dtype)


def _named(name: str) -> Any:
    module, _, own = name.rpartition(".")
    if module != "torch" or own not in _legacy_types.__all__:
        raise TypeError(f"invalid type: '{name}'")
    return getattr(_legacy_types, own)
