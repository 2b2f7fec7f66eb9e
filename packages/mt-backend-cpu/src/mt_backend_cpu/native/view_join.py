"""Arrays one after another, by the native library."""

from __future__ import annotations

from typing import Any

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import ALL_DTYPES

from ..registry import kernel
from . import library

if library is not None:
    _cat, _stack = library.cat, library.stack

    def _alike(tensors: Any, dim: int) -> bool:
        """Of one dtype, and none of them passed over."""
        return len({t._dtype for t in tensors}) == 1 and all(t._array.shape != (0,) for t in tensors)

    _ROWS = Accepts(dtypes=frozenset(ALL_DTYPES), layout="row_major", also=_alike)

    @kernel("cat", half="native", accepts=_ROWS)
    def cat(tensors: list[Any], dim: int) -> Any:
        """tensors (*L, N_i, *R) -> (*L, sum of N_i, *R), at `dim`."""
        return _cat(tensors, dim if dim >= 0 else dim + tensors[0].ndim)

    @kernel("stack", half="native", accepts=_ROWS)
    def stack(tensors: list[Any], dim: int) -> Any:
        """K tensors (*L, *R) -> (*L, K, *R), at `dim`."""
        return _stack(tensors, dim if dim >= 0 else dim + tensors[0].ndim + 1)
