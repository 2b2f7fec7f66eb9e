"""Indexing over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import kernel

_ALL = slice(None)


def _numpy_index(self: np.ndarray, indices: list[Any]) -> tuple[Any, ...]:
    """The indices as NumPy takes them; out-of-range ones are refused in PyTorch's words."""
    result: list[Any] = []
    dim = 0
    for index in indices:
        if index is None:
            result.append(_ALL)
            dim += 1
            continue
        if index.dtype == np.uint8:
            index = index.astype(np.bool_)
        if index.dtype == np.bool_:
            result.extend(index.nonzero())
            dim += index.ndim
            continue
        size = self.shape[dim]
        if index.size and (index.max() >= size or index.min() < -size):
            bad = index[(index >= size) | (index < -size)].flat[0]
            raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {size}")
        result.append(index)
        dim += 1
    return tuple(result)


@kernel("index.Tensor", half="native")
def index(self: np.ndarray, indices: list[Any]) -> np.ndarray:
    return self[_numpy_index(self, indices)]


@kernel("index_put_", half="native")
def index_put_(self: np.ndarray, indices: list[Any], values: np.ndarray, accumulate: bool) -> None:
    where = _numpy_index(self, indices)
    if accumulate:
        np.add.at(self, where, values)
    else:
        self[where] = values
