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
    for _names, _function in {
        ("unsqueeze",): library.unsqueeze,
        ("select.int",): library.select,
        ("slice.Tensor",): library.slice,
        ("expand",): library.expand,
        ("permute",): library.permute,
        ("transpose.int",): library.transpose,
        ("t",): library.t,
        ("squeeze",): library.squeeze,
        ("squeeze.dim",): library.squeeze_dim,
        ("diagonal",): library.diagonal,
        ("unfold",): library.unfold,
        ("unbind.int",): library.unbind,
        ("split.Tensor",): library.split,
        ("split_with_sizes",): library.split_sizes,
    }.items():
        short_view(*_names)(_function)
