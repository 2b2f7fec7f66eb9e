"""Cumulative sums by the native library."""

from __future__ import annotations

from typing import Any

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32

from ..registry import kernel
from . import library

if library is not None:
    _cumsum = library.cumsum

    def _has_dimensions(self: Any, dim: int, dtype: Any) -> bool:
        return self._array.ndim > 0

    @kernel(
        "cumsum",
        accepts=Accepts(dtypes=frozenset((float32,)), layout="row_major", defaults=("dtype",), also=_has_dimensions),
    )
    def cumsum(self: Any, dim: int) -> Any:
        """self (*) -> (*)."""
        return _cumsum(self, dim % self.ndim)
