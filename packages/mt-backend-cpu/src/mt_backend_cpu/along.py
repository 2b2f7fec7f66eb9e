"""Elements picked along one dimension: what `np.take_along_axis` does, without its checks."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["at_dim", "reversed_along", "take_along"]

_ALL = slice(None)
_BACKWARDS = slice(None, None, -1)


def at_dim(index: np.ndarray, dim: int) -> tuple[Any, ...]:
    """NumPy's index for one element per element of `index`: `index` along `dim`, the position itself along all others.

    `dim` counts from the front.
    """
    where: list[Any] = []
    behind = index.ndim
    for axis, size in enumerate(index.shape):
        behind -= 1
        where.append(index if axis == dim else np.arange(size).reshape((size,) + (1,) * behind))
    return tuple(where)


def take_along(array: np.ndarray, index: np.ndarray, dim: int) -> np.ndarray:
    """array[..., index[..., j, ...], ...]: elements of `array`, with at least one dimension, picked along `dim`."""
    return array[at_dim(index, dim % array.ndim)]


def reversed_along(array: np.ndarray, dim: int) -> np.ndarray:
    """A view with one dimension backwards."""
    return array[(_ALL,) * (dim % array.ndim) + (_BACKWARDS,)]
