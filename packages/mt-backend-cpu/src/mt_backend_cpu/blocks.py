"""Long chains of NumPy calls over pieces that stay in the processor's cache.

A chain of twenty ufuncs over a large array reads and writes main memory twenty times. Piece by piece it does so once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

__all__ = ["BLOCK", "blocks", "blockwise", "constant", "tiny"]

#: Elements per piece: a handful of float32 arrays of this size fit the second-level cache.
BLOCK = 1 << 13
#: Arrays up to this size are quicker in a Python loop than in a dozen ufunc calls.
TINY = 24


def blocks(*arrays: Any) -> Iterator[tuple[Any, ...]]:
    """Row-major arrays of one shape, block by block."""
    if arrays[0].size <= BLOCK:
        yield arrays
        return
    flat = [array.reshape(-1) for array in arrays]
    for start in range(0, flat[0].size, BLOCK):
        yield tuple([array[start : start + BLOCK] for array in flat])


def blockwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a function that works element by element, applied to large arrays piece by piece.

    The function gets arrays of one shape with at least one dimension, which it must not change. Arrays of several
    shapes are broadcast first. Parameters are given by keyword.
    """

    @functools.wraps(function)
    def run(*arrays: Any, **parameters: Any) -> Any:
        if len(arrays) > 1 and any(array.shape != arrays[0].shape for array in arrays):
            arrays = np.broadcast_arrays(*arrays)  # type: ignore[assignment]
        shape = arrays[0].shape
        if arrays[0].size <= BLOCK:
            if shape:
                return function(*arrays, **parameters)
            return function(*[array.reshape(1) for array in arrays], **parameters).reshape(shape)
        result = None
        for start, parts in zip(range(0, math.prod(shape), BLOCK), blocks(*arrays)):
            part = function(*parts, **parameters)
            if result is None:
                result = np.empty(math.prod(shape), part.dtype)
            result[start : start + BLOCK] = part
        return result.reshape(shape)  # type: ignore[union-attr]

    return run


@functools.cache
def constant(value: float, element_type: np.dtype) -> np.ndarray:
    """A number as an array without dimensions: beside an array it costs a ufunc less than a Python number."""
    made = np.array(value, element_type)
    made.flags.writeable = False
    return made


def tiny(function: Callable[[float], float], array: Any) -> Any:
    """A function of Python numbers over the few elements of an array."""
    return np.array([function(x) for x in array.ravel().tolist()], array.dtype).reshape(array.shape)
