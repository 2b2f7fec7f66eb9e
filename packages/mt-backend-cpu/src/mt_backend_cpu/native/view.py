"""Views of other shapes by the native library."""

from __future__ import annotations

from ..registry import short_view
from . import library

if library is not None:
    short_view("view", row_major=True)(library.view)
    short_view("unsqueeze", row_major=True)(library.unsqueeze)
