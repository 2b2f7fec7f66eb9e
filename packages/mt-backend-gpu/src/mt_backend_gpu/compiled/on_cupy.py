"""The compiled kernels on CuPy's arrays: the current device's machine, and how operators get them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import cupy
import numpy

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import bfloat16, dtype, float16, float32, float64

from ..memory import address_of
from ..registry import enter
from . import faults, nvrtc
from .driver import CudaMachine, driver
from .layout import MAX_DIMS
from .machine import Machine

__all__ = ["FLOATING", "available", "compiled", "fits", "machine", "raise_faults", "row_major"]

F = TypeVar("F", bound=Callable[..., Any])

#: What floating kernels take.
FLOATING: frozenset[dtype] = frozenset((float32, float64, float16, bfloat16))
_MOST_ELEMENTS = 1 << 31
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
            index, empty=cupy.empty, zeros=cupy.zeros, address=address_of, stream=_stream, words=_words
        )
    return found


def _words() -> numpy.ndarray:
    """Two words that both sides reach under one address."""
    words = numpy.frombuffer(cupy.cuda.alloc_pinned_memory(16), numpy.uint64, 2)
    words[:] = 0
    return words


def raise_faults(index: int) -> None:
    """Raise for what kernels of a device, which was waited for, found wrong."""
    found = MACHINES.get(index)
    if found is not None:
        faults.raise_if_any(found.words)


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


def fits(*tensors: Any) -> bool:
    """Whether tensors, or None, can be described to kernels that take any strides: 2**31 elements, 12 dimensions."""
    return all(t is None or t._array.size < _MOST_ELEMENTS and t._array.ndim <= MAX_DIMS for t in tensors)


def row_major(array: Any) -> Any:
    """The array itself, or a copy row by row; None stays None."""
    return array if array is None or array.flags.c_contiguous else cupy.ascontiguousarray(array)
