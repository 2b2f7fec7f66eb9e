"""Copies, sequences and triangles by the native library."""

from __future__ import annotations

from typing import Any

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32, get_default_dtype

from ..registry import kernel
from . import library

if library is not None:
    _clone = library.clone

    _triangle, _linspace = library.triangle, library.linspace
    _MATRICES = Accepts(layout="row_major")

    @kernel("tril", half="native", accepts=_MATRICES)
    def tril(self: Any, diagonal: int) -> Any:
        """self (*, M, N) -> (*, M, N)."""
        return _triangle(self, diagonal, True)

    @kernel("triu", half="native", accepts=_MATRICES)
    def triu(self: Any, diagonal: int) -> Any:
        """self (*, M, N) -> (*, M, N)."""
        return _triangle(self, diagonal, False)

    def _is_single(start: Any, end: Any, steps: int, dtype: Any, *options: Any) -> bool:
        # Numbers beyond single precision are NumPy's to turn into infinities.
        if not all(one.__class__ in (int, float) and abs(one) < 3e38 for one in (start, end)):
            return False
        return (dtype or get_default_dtype()) is float32

    @kernel("linspace", half="native", accepts=Accepts(also=_is_single))
    def linspace(start: Any, end: Any, steps: int, spec: Any) -> Any:
        """-> (steps,), from end to end."""
        return _linspace(start, end, steps)

    @kernel("clone", half="native", accepts=Accepts(layout="row_major", defaults=("memory_format",)))
    def clone(self: Any) -> Any:
        """self (*) -> (*)."""
        return _clone(self)
