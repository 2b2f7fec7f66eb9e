"""Joining for backends that copy into slices alone."""

from __future__ import annotations

from typing import Any

from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ..promotion import result_type_of
from ..shape_rules.view_join import counted


@composite("cat", explicit=True)
def cat(tensors: list[Any], dim: int) -> Any:
    """tensors (*L, N_i, *R) -> (*L, sum of N_i, *R), at `dim`; tensors (0,) are passed over."""
    taking_part, d = counted(tensors), result_type_of(tensors)
    if not taking_part:
        return tensors[0].new_empty((0,), dtype=d)
    dim %= taking_part[0]._array.ndim
    shape = list(taking_part[0]._array.shape)
    shape[dim] = sum(t._array.shape[dim] for t in taking_part)
    result, start = tensors[0].new_empty(shape, dtype=d), 0
    for tensor in taking_part:
        size = tensor._array.shape[dim]
        result.narrow(dim, start, size).copy_(tensor)
        start += size
    return result


@composite("stack", explicit=True)
def stack(tensors: list[Any], dim: int) -> Any:
    """tensors (*L, *R), all alike -> (*L, number of tensors, *R), at `dim`."""
    return ops.cat([tensor.unsqueeze(dim) for tensor in tensors], dim)


@composite("repeat", explicit=True)
def repeat(self: Any, repeats: tuple[int, ...]) -> Any:
    """self (*S) -> (repeats[i] S[i], ...), S preceded by as many ones as it lacks."""
    ndim = len(repeats)
    sizes = (1,) * (ndim - self._array.ndim) + tuple(self._array.shape)
    spread = self.reshape([n for size in sizes for n in (1, size)])
    spread = spread.expand([n for size, times in zip(sizes, repeats, strict=True) for n in (times, size)])
    return spread.reshape([size * times for size, times in zip(sizes, repeats, strict=True)])


@composite("flip", explicit=True)
def flip(self: Any, dims: tuple[int, ...]) -> Any:
    """self (*) -> (*), the dimensions `dims` from their ends: slice after slice."""
    for dim in dims if self._array.ndim else ():
        slices = self.unbind(dim)[::-1]
        self = ops.stack(slices, dim) if slices else self
    return self
