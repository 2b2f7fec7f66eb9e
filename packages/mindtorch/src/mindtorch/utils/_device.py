"""``torch.utils._device``: functions whose new tensors are made on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core import device as Device

from ._contextlib import context_decorator

__all__ = ["set_device"]


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: new tensors that a function makes, and is told no device for, are made on this one.

    Generators are resumed there as well.
    """
    return lambda function: context_decorator(lambda: Device(device), function)
