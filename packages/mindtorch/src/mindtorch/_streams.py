"""Device modules by name; streams and events of any device."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from mt_core import device as _device

from ._unsupported import unsupported_class

__all__ = ["Event", "Stream", "get_device_module"]

Event = unsupported_class("torch.Event", "Work on the CPU is done when a call returns: there is nothing to wait for.")
Stream = unsupported_class("torch.Stream", "Work on the CPU is done when a call returns: there is nothing to order.")


def get_device_module(device: Any = None) -> ModuleType:
    """``torch.cpu``, ``torch.cuda`` and so on for a device; without one, that of the accelerator or else the CPU.

    Raises
    ------
    RuntimeError
        When there is no such device type, or no module for it.
    """
    from . import accelerator

    if device is None:
        device = accelerator.current_accelerator(check_available=True) or "cpu"
    kind = _device(device).type
    try:
        return importlib.import_module(f"{__package__}.{kind}")
    except ModuleNotFoundError:
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'."
        ) from None
