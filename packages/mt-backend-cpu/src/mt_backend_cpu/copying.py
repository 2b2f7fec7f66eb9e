"""Large copies between arrays of different strides, by the native library."""

from __future__ import annotations

import numpy as np

__all__ = ["LARGE", "copied"]

#: From so many elements on, NumPy's order of reading costs more than asking another.
LARGE = 1 << 13


def copied(target: np.ndarray, source: np.ndarray) -> bool:
    """Copy an array into another of its shape and dtype, where the native library does; whether it did."""
    from .native import library  # lazy: a program that copies nothing large loads it with its first kernel

    return library is not None and target.flags.writeable and bool(library.copy(target, source))
