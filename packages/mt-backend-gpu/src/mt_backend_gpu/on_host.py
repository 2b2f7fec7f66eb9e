"""Operators that are computed on the host: their arguments are copied there, and the results back.

They are named one by one in `host_operators`: none comes here by itself. The kernels are the CPU backend's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy

from mt_core.dispatch.lookup import backend_for
from mt_core.dispatch.registry import KERNELS, find_overload
from mt_core.keys import CPU

from .host_operators import ON_HOST
from .registry import enter

__all__ = ["register_on_host"]


def register_on_host(family: str) -> None:
    """Register the CPU's kernels of a family's operators that are computed there."""
    if family not in ON_HOST:
        return
    backend_for(CPU).load(family)
    for name in ON_HOST[family]:
        assert find_overload(name).family == family, f"{name} is no operator of {family}"
        for kernel in reversed(KERNELS[CPU][name]):  # what is registered later stands in front
            if kernel.own:
                enter(
                    (name,), _lifted(kernel.function), False, accepts=kernel.accepts, half=kernel.half,
                    recorded=kernel.recorded,
                )  # fmt: skip


def _lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of the host as one that takes and gives arrays of the device."""

    def run(*args: Any) -> Any:
        with numpy.errstate(all="ignore"):
            return _mapped(_to_device, function(*_mapped(_to_host, args)))

    run.__name__ = f"{getattr(function, '__name__', 'kernel')}_on_host"
    return run


def _to_host(value: Any) -> Any:
    return value.get() if isinstance(value, cupy.ndarray) else value


def _to_device(value: Any) -> Any:
    return cupy.asarray(value) if isinstance(value, (numpy.ndarray, numpy.generic)) else value


def _mapped(change: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)([_mapped(change, item) for item in value])
    return change(value)
