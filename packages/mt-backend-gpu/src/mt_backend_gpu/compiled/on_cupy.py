"""The compiled kernels on CuPy's arrays: the current device's machine, and how operators get them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import cupy

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import bfloat16, dtype, float16, float32, float64

from ..memory import address_of
from ..registry import enter
from . import nvrtc
from .driver import CudaMachine, driver
from .machine import Machine

__all__ = ["FLOATING", "available", "compiled", "machine", "row_major"]

F = TypeVar("F", bound=Callable[..., Any])

#: What floating kernels take.
FLOATING: frozenset[dtype] = frozenset((float32, float64, float16, bfloat16))
#: Device -> its machine; a test puts its own here.
MACHINES: dict[int, Machine] = {}


@functools.cache
def available() -> bool:
    """Whether kernels can be compiled and run: there are a driver and NVRTC (or a test's machine)."""
    if MACHINES:
        return True
    try:
        driver()
        nvrtc.library()
    except (OSError, nvrtc.CompileError):  # `mindtorch doctor` says so
        return False
    return True


def machine() -> Machine:
    """The current device's."""
    index = cupy.cuda.runtime.getDevice()
    found = MACHINES.get(index)
    if found is None:
        found = MACHINES[index] = CudaMachine(
            index, empty=cupy.empty, zeros=cupy.zeros, address=address_of, stream=_stream
        )
    return found


def _stream() -> int:
    handle: int = cupy.cuda.get_current_stream().ptr
    return handle


def compiled(
    *names: str, accepts: Accepts | None = None, fills: bool = False, recorded: bool = True
) -> Callable[[F], F]:
    """Decorator: the function is these overloads' kernel where kernels can be compiled; it takes halves as they are."""

    def register(function: F) -> F:
        if available():
            enter(names, function, fills, accepts=accepts, half="native", recorded=recorded)
        return function

    return register


def row_major(array: Any) -> Any:
    """The array itself, or a copy row by row; None stays None."""
    return array if array is None or array.flags.c_contiguous else cupy.ascontiguousarray(array)
