"""Long chains of NumPy calls over pieces that stay in the processor's cache.

A chain of twenty ufuncs over a large array reads and writes main memory twenty times. Piece by piece it does so once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["blockwise"]

#: Elements per piece: a handful of float32 arrays of this size fit the second-level cache.
BLOCK = 8192


def blockwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a function of arrays of one shape, which works element by element, applied in pieces.

    The function gets 1-d arrays and may write to its own temporaries; further arguments (keywords) are passed on.
    Arrays that are broadcast against each other are expanded first.
    """

    def run(*arrays: Any, **parameters: Any) -> Any:
        first = arrays[0]
        for other in arrays:
            if other.shape != first.shape:
                arrays = np.broadcast_arrays(*arrays)
                first = arrays[0]
                break
        size = first.size
        flat = [array.reshape(-1) for array in arrays]
        if size <= BLOCK:
            return function(*flat, **parameters).reshape(first.shape)
        out = None
        for start in range(0, size, BLOCK):
            part = function(*[array[start : start + BLOCK] for array in flat], **parameters)
            if out is None:
                out = np.empty(size, part.dtype)
            out[start : start + BLOCK] = part
        return out.reshape(first.shape)  # type: ignore[union-attr]

    return run
