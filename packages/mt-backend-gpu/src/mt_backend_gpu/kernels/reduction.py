"""Reductions: the index of a NaN is that of the first, where CuPy finds any."""

from __future__ import annotations

from typing import Any

from .. import namespace as np
from ..registry import kernel
from ..shared import replace


def _first(array: Any, axis: int, largest: bool) -> Any:
    """Index along an axis of the largest or smallest element, the first of several, or of the first NaN."""
    if array.dtype.kind != "f":
        return array.argmax(axis) if largest else array.argmin(axis)
    found = (array.max if largest else array.min)(axis, keepdims=True)
    chosen = np.where(np.isnan(found), np.isnan(array), array == found)
    shape = [1] * array.ndim
    shape[axis] = -1
    position = np.arange(array.shape[axis]).reshape(shape)
    return np.where(chosen, position, array.shape[axis]).min(axis)


def arg(self: Any, find: Any, dim: int | None, keepdim: bool) -> Any:
    """The index of an extreme element; `find` is the array's method for it."""
    largest = find is np.ndarray.argmax
    if dim is None or not self.ndim:
        found = _first(self.reshape(-1), 0, largest)
        return found.reshape((1,) * self.ndim) if keepdim else found
    dim %= self.ndim
    return _shared._keep(_first(self, dim, largest), self, (dim,), keepdim)


_shared: Any = replace("kernels.reduction", _arg=arg)


@kernel("max.dim")
def max_dim(self: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """self (*S) -> values and indices (int64), S without the dimension `dim`, or 1 there with `keepdim`."""
    place = _first(self, dim, True) if self.ndim else np.zeros((), np.int64)
    return _shared._with_index(self, place, dim, keepdim)  # type: ignore[no-any-return]


@kernel("min.dim")
def min_dim(self: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """self (*S) -> values and indices (int64), S without the dimension `dim`, or 1 there with `keepdim`."""
    place = _first(self, dim, False) if self.ndim else np.zeros((), np.int64)
    return _shared._with_index(self, place, dim, keepdim)  # type: ignore[no-any-return]
