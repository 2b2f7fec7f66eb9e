"""Transcendental functions by NumPy's own loops, which the native library calls, and divides among threads."""

from __future__ import annotations

import numpy as np

from ..registry import kernels
from . import library

if library is not None:
    kernels({name: library.Loops(function) for name, function in {
        "exp": np.exp, "expm1": np.expm1, "exp2": np.exp2, "log": np.log, "log1p": np.log1p, "log2": np.log2,
        "log10": np.log10, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
        "atan": np.arctan, "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh,
        "acosh": np.arccosh, "atanh": np.arctanh, "logaddexp2": np.logaddexp2, "deg2rad": np.deg2rad,
        "rad2deg": np.rad2deg,
    }.items()})  # fmt: skip
