"""Views of other shapes by the native library."""

from __future__ import annotations

import numpy as np

from ..registry import short_view
from . import library

__all__ = ["row_by_row"]


def row_by_row(array: np.ndarray) -> np.ndarray:
    """The array itself where it is row-major, else a copy that is."""
    return array if array.flags.c_contiguous else array.copy(order="C")


if library is not None:
    short_view("view", row_major=True)(library.view)
    short_view("unsqueeze", row_major=True)(library.unsqueeze)
