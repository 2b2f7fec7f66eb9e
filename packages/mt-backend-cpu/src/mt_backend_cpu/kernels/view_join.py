"""Joining, repeating and rearranging over NumPy."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mt_core.dtypes import from_numpy_dtype, promote_types

from ..convert import cast
from ..registry import kernel


def _short_cat(tensors: list[np.ndarray], dim: int) -> Any:
    first = tensors[0].shape
    if not first or any(t.shape != first for t in tensors) or first == (0,) or not -len(first) <= dim < len(first):
        return None
    array = np.concatenate(tensors, dim)
    return array if array.flags.c_contiguous else None


@kernel("cat", half="native", short=_short_cat)
def cat(tensors: list[np.ndarray], dim: int) -> np.ndarray:
    taking_part = [t for t in tensors if t.shape != (0,)]
    if not taking_part:
        return tensors[0].copy()
    kind = functools.reduce(promote_types, [from_numpy_dtype(t.dtype) for t in tensors]).np
    return np.concatenate([cast(t, kind) for t in taking_part], dim)


def _short_stack(tensors: list[np.ndarray], dim: int) -> Any:
    first = tensors[0].shape
    ndim = len(first) + 1
    if any(t.shape != first for t in tensors) or not -ndim <= dim < ndim:
        return None
    array = np.stack(tensors, dim) if dim else np.array(tensors, tensors[0].dtype)
    return array if array.flags.c_contiguous else None


@kernel("stack", half="native", short=_short_stack)
def stack(tensors: list[np.ndarray], dim: int) -> np.ndarray:
    return np.stack(tensors, dim)


@kernel("repeat", half="native")
def repeat(self: np.ndarray, repeats: Any) -> np.ndarray:
    return np.tile(self, repeats)


@kernel("flip", half="native")
def flip(self: np.ndarray, dims: Any) -> np.ndarray:
    return np.flip(self, tuple(dims)).copy() if dims else self.copy()


@kernel("roll", half="native")
def roll(self: np.ndarray, shifts: Any, dims: Any) -> np.ndarray:
    return np.roll(self, shifts, dims if dims else None) if dims else np.roll(self, shifts[0]).reshape(self.shape)
