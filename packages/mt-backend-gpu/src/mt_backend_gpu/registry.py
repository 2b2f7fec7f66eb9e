"""Registering kernels of the device ``cuda``: the CPU backend's words (`mt_backend_cpu.registry`), for this device.

Kernels of the CPU that write into the first of several arrays block by block have no place here: the ordinary forms
serve.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

import cupy
import numpy

from mt_core.dispatch.kernel import Accepts
from mt_core.dispatch.registry import register_kernel
from mt_core.dtypes import float32, float64
from mt_core.keys import CUDA
from mt_core.spec import Spec

__all__ = ["FLOATS", "fused", "into_first", "kernel", "kernels", "short_view"]

F = TypeVar("F", bound=Callable[..., Any])

#: The real floating dtypes that kernels compute in.
FLOATS = frozenset((float32, float64))


def enter(
    names: tuple[str, ...], function: Callable[..., Any], fills: bool, *, into_first: bool = False, **options: Any
) -> None:
    """Register a kernel; where there are several devices, it runs on that of its first array.

    With ``CUDA_LAUNCH_BLOCKING=1`` it is waited for, and what the device reports names the operator.
    """
    if os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0"):
        function = waited_for(names[0], function)
    if cupy.cuda.runtime.getDeviceCount() > 1:
        function = on_its_device(function)
    register_kernel(CUDA, names, function, out="first" if into_first else "fills" if fills else "fresh", **options)


def waited_for(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that returns when the device is done with it; errors of the device get the operator's name."""

    @functools.wraps(function)
    def run(*args: Any, **out: Any) -> Any:
        from .compiled.on_cupy import raise_faults  # that module imports this one

        result = function(*args, **out)
        if cupy.cuda.get_current_stream().is_capturing():
            return result
        try:
            cupy.cuda.get_current_stream().synchronize()
            raise_faults(cupy.cuda.runtime.getDevice())
        except RuntimeError as error:
            raise RuntimeError(f"{name}: {error}") from error
        return result

    return run


def on_its_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """CuPy works on the current device, whatever its arguments are on; numbers among the results go there too."""

    @functools.wraps(function)
    def run(*args: Any, **out: Any) -> Any:
        index = next(_indices(args), None)
        if index is None or index == cupy.cuda.runtime.getDevice():
            return function(*args, **out)
        with cupy.cuda.Device(index):
            return _placed(function(*args, **out))

    return run


def _indices(args: Any) -> Any:
    """The device indices of arrays, and those that factories are asked for."""
    for value in args:
        if isinstance(value, cupy.ndarray):
            yield value.data.device_id
        elif isinstance(value, Spec) and value.device is not None and value.device.index is not None:
            yield value.device.index
        elif isinstance(value, (list, tuple)):
            yield from _indices(value)


def _placed(result: Any) -> Any:
    if isinstance(result, (list, tuple)):
        return type(result)([_placed(part) for part in result])
    return cupy.asarray(result) if isinstance(result, (numpy.ndarray, numpy.generic)) else result


def kernel(
    *names: str, half: str | None = None, accepts: Accepts | None = None, fills: bool = False
) -> Callable[[F], F]:
    """Decorator: the function is the kernel of these overloads; options as in `mt_backend_cpu.registry.kernel`."""

    def register(function: F) -> F:
        enter(names, function, fills, accepts=accepts, half=half)
        return function

    return register


def kernels(
    table: dict[str, Any], *, half: str | None = None, fills: bool = True, accepts: Accepts | None = None
) -> None:
    """Enter a table of overload name -> function; by default ufuncs, which take ``out=``."""
    for name, function in table.items():
        enter((name,), function, fills, accepts=accepts, half=half)


def fused(name: str, accepts: Accepts) -> Callable[[F], F]:
    """Decorator: the function is a composite in one piece, used where no gradient is recorded."""

    def register(function: F) -> F:
        enter((name,), function, False, accepts=accepts, recorded=False)
        return function

    return register


def into_first(table: dict[str, Any], *, also: Callable[..., bool] | None = None) -> None:
    """The CPU's in-place forms in blocks are not taken over."""


def short_view(*names: str, row_major: bool = False) -> Callable[[F], F]:
    """NumPy's short cuts for views are not taken over."""
    return lambda function: function
