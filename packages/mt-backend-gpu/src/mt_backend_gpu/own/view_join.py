"""cat and stack in one launch for up to 64 arrays."""

from __future__ import annotations

from typing import Any

from mt_core.dispatch.kernel import Accepts

from ..compiled import join
from ..compiled.on_cupy import compiled, machine, row_major


def _of_one_type(tensors: Any, dim: int) -> bool:
    return len(tensors) > 0 and all(t._dtype is tensors[0]._dtype for t in tensors)


@compiled("cat", accepts=Accepts(also=_of_one_type))
def cat(tensors: list[Any], dim: int) -> Any:
    """tensors (*L, N_i, *R) -> (*L, sum of N_i, *R), at `dim`; tensors (0,) are passed over."""
    joined = [t for t in tensors if t.shape != (0,)]
    return join.cat(machine(), list(map(row_major, joined)), dim) if joined else tensors[0].copy()


@compiled("stack", accepts=Accepts(also=_of_one_type))
def stack(tensors: list[Any], dim: int) -> Any:
    """K tensors (*L, *R) -> (*L, K, *R), at `dim`."""
    first = tensors[0]
    dim %= first.ndim + 1
    shape = (*first.shape[:dim], 1, *first.shape[dim:])
    return join.cat(machine(), [row_major(t).reshape(shape) for t in tensors], dim)
