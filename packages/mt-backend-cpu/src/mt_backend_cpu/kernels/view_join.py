"""Joining, repeating and rearranging over NumPy."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import complex32, dtype, from_numpy_dtype, promote_types

from ..convert import cast
from ..registry import kernel


@kernel("cat", half="native")
def cat(tensors: list[np.ndarray], dim: int) -> np.ndarray:
    """tensors (*L, N_i, *R) -> (*L, sum of N_i, *R), at `dim`; tensors (0,) are passed over."""
    taking_part = [t for t in tensors if t.shape != (0,)]
    if not taking_part:
        return tensors[0].copy()
    kind = _common_dtype(tensors)
    return np.concatenate([cast(t, kind) for t in taking_part], dim)


def _common_dtype(tensors: list[np.ndarray]) -> np.dtype:
    return functools.reduce(promote_types, [_dtype_of(t) for t in tensors]).numpy_dtype


def _dtype_of(array: np.ndarray) -> dtype:
    """What the array holds; pairs of halves are complex numbers."""
    return complex32 if array.dtype.fields is not None else from_numpy_dtype(array.dtype)


def _of_one_dtype(tensors: Any, dim: int) -> bool:
    return len({t._dtype for t in tensors}) == 1 and all(t._array.shape != (0,) for t in tensors)


@kernel("cat", half="native", accepts=Accepts(also=_of_one_dtype))
def cat_of_one_dtype(tensors: list[np.ndarray], dim: int) -> np.ndarray:
    """tensors (*L, N_i, *R) -> (*L, sum of N_i, *R), at `dim`; tensors (0,) are passed over."""
    return np.concatenate(tensors, dim)


@kernel("stack", half="native")
def stack(tensors: list[np.ndarray], dim: int) -> np.ndarray:
    """K tensors (*L, *R) -> (*L, K, *R), at `dim`."""
    kind = _common_dtype(tensors)
    return np.stack([cast(t, kind) for t in tensors], dim)


@kernel("stack", half="native", accepts=Accepts(also=lambda tensors, dim: dim == 0 and _of_one_dtype(tensors, dim)))
def stack_first(tensors: list[np.ndarray], dim: int) -> np.ndarray:
    """K tensors (*L, *R) -> (*L, K, *R), at `dim`."""
    return np.array(tensors, tensors[0].dtype)


@kernel("repeat", half="native")
def repeat(self: np.ndarray, repeats: Any) -> np.ndarray:
    """self (*S) -> (repeats[i] S[i], ...), S preceded by as many ones as it lacks."""
    return np.tile(self, repeats)


@kernel("flip", half="native")
def flip(self: np.ndarray, dims: Any) -> np.ndarray:
    """self (*) -> (*)."""
    return np.flip(self, tuple(dims)).copy() if dims and self.ndim else self.copy()


@kernel("roll", half="native")
def roll(self: np.ndarray, shifts: Any, dims: Any) -> np.ndarray:
    """self (*) -> (*)."""
    if not self.size:
        return self.copy()
    return np.roll(self, shifts, dims if dims else None) if dims else np.roll(self, shifts[0]).reshape(self.shape)


@kernel("_unsafe_view", half="native")
def unsafe_view(self: np.ndarray, size: Any) -> np.ndarray:
    """self (*S) -> another shape of as many elements; the caller gives its memory away."""
    return self.reshape(size)
