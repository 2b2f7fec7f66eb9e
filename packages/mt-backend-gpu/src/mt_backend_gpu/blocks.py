"""Chains of array functions are not cut into blocks: the words of `mt_backend_cpu.blocks`, over whole arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from . import namespace as np

__all__ = ["BLOCK", "TINY", "blocks", "blockwise", "constant", "tiny"]

#: More elements than any array has: one block.
BLOCK = 1 << 60
#: No array is so small that its elements are better computed on the host.
TINY = -1


def blocks(*arrays: Any) -> Iterator[tuple[Any, ...]]:
    """All in one block."""
    yield arrays


def blockwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a function that works element by element on arrays of one shape, with at least one dimension."""

    @functools.wraps(function)
    def run(*arrays: Any, **parameters: Any) -> Any:
        if len(arrays) > 1 and any(array.shape != arrays[0].shape for array in arrays):
            arrays = tuple(np.broadcast_arrays(*arrays))
        shape = arrays[0].shape
        if shape:
            return function(*arrays, **parameters)
        return function(*[array.reshape(1) for array in arrays], **parameters).reshape(shape)

    return run


@functools.cache
def constant(value: float, element_type: numpy.dtype) -> Any:
    """A number of an element type, which kernels are given by value."""
    return element_type.type(value)


def tiny(function: Callable[[float], float], array: Any) -> Any:
    """Functions of Python numbers are not applied to elements of a device."""
    raise AssertionError("no array of a device is so small")
