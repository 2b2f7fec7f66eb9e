"""Neural network modules, optimizers and data loading of mindtorch."""

from __future__ import annotations

from typing import Any

from . import attention, functional, grad, init, modules, parallel, parameter, utils
from .modules import *  # noqa: F403 - the classes listed in its __all__
from .modules import __all__ as _module_classes
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    *_module_classes,
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "attention",
    "factory_kwargs",
    "functional",
    "grad",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
]


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments `device`, `dtype` and `memory_format` for factory functions, gathered from a module's own.

    Parameters
    ----------
    kwargs
        May hold them themselves, or under the key ``"factory_kwargs"``, but none of them twice.

    Raises
    ------
    TypeError
        There are other keys, or one is given twice.
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unexpected = set(kwargs) - simple - {"factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    gathered = dict(kwargs.get("factory_kwargs", {}))
    for name in simple:
        if name in kwargs:
            if name in gathered:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            gathered[name] = kwargs[name]
    return gathered
