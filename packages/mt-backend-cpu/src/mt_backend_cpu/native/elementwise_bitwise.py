"""Bits and divisors of integers by NumPy's own loops, which the native library calls, and divides among threads."""

from __future__ import annotations

import numpy as np

from ..registry import kernels
from . import library

if library is not None:
    kernels({name: library.Loops(function) for name, function in {
        "bitwise_and.Tensor": np.bitwise_and, "bitwise_or.Tensor": np.bitwise_or,
        "bitwise_xor.Tensor": np.bitwise_xor, "bitwise_not": np.invert, "gcd": np.gcd, "lcm": np.lcm,
    }.items()})  # fmt: skip
