"""Exponentials, logarithms, trigonometric and hyperbolic functions over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import kernel, kernels

kernels({
    "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "exp2": np.exp2, "log2": np.log2, "log10": np.log10, "atan2": np.arctan2,
    "logaddexp2": np.logaddexp2, "deg2rad": np.deg2rad, "rad2deg": np.rad2deg,
})  # fmt: skip


@kernel("logaddexp")
def logaddexp(self: Any, other: Any) -> Any:
    """self (*), other (*), broadcast -> the common shape."""
    if self.dtype.kind != "c":
        return np.logaddexp(self, other)
    larger = np.where(self.real >= other.real, self, other)
    smaller = np.where(self.real >= other.real, other, self)
    return larger + np.log1p(np.exp(smaller - larger))
