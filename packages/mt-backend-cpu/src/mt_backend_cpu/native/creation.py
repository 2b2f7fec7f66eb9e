"""Copies by the native library."""

from __future__ import annotations

from typing import Any

from mt_core.dispatch.kernel import Accepts

from ..registry import kernel
from . import library

if library is not None:
    _clone = library.clone

    @kernel("clone", half="native", accepts=Accepts(layout="row_major", defaults=("memory_format",)))
    def clone(self: Any) -> Any:
        """self (*) -> (*)."""
        return _clone(self)
