"""Modules whose parameters are not initialized."""

import inspect
from typing import Any

from ..modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """A module, made without spending time on initial values; its memory is whatever was there.

    Parameters
    ----------
    module_cls
        The class, whose constructor must take `device`.
    *args
        The constructor's arguments.
    **kwargs
        The constructor's arguments.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    final_device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=final_device)
