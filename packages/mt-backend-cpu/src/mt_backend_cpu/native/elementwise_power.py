"""Powers and roots by NumPy's own loops, which the native library calls, and divides among threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernels.elementwise_power import complex_power, integer_power
from ..registry import kernel, kernels
from . import library

if library is not None:
    _Loops = library.Loops
    _sqrt, _reciprocal, _square = (_Loops(function) for function in (np.sqrt, np.reciprocal, np.square))
    _power = _Loops(np.power, True)  # of integers it refuses negative exponents
    _multiply = _Loops(np.multiply)
    kernels({"sqrt": _sqrt, "reciprocal": _reciprocal, "hypot": _Loops(np.hypot)})

    @kernel("rsqrt")
    def rsqrt(self: Any) -> Any:
        """self (*) -> (*)."""
        root = _sqrt(self)
        return _reciprocal(root, out=root) if getattr(root, "ndim", 0) else np.reciprocal(root)

    @kernel("pow.Tensor_Tensor", "pow.Scalar")
    def power(self: Any, exponent: Any) -> Any:
        """self (*), exponent (*), broadcast -> the common shape."""
        kind = (self if hasattr(self, "dtype") else exponent).dtype.kind
        if kind == "c":
            return complex_power(np.asarray(self), np.asarray(exponent))
        return integer_power(np.asarray(self), np.asarray(exponent)) if kind == "i" else _power(self, exponent)

    @kernel("pow.Tensor_Scalar")
    def power_of_number(self: Any, exponent: Any) -> Any:
        """self (*), exponent a number -> (*).

        Small exponents are products and roots, as in PyTorch: faster, and exact where ``x * x`` is.
        """
        shortcut = _SHORTCUTS.get(exponent.item() if exponent.__class__ is np.ndarray else exponent)
        if shortcut is not None and self.dtype.kind in "fc":
            return shortcut(self)
        return complex_power(self, exponent) if self.dtype.kind == "c" else _power(self, exponent)

    _SHORTCUTS: dict[Any, Callable[[Any], Any]] = {
        0: np.ones_like,
        0.5: _sqrt,
        1: np.copy,
        2: _square,
        3: lambda x: _multiply(_multiply(x, x), x),
        -0.5: rsqrt,
        -1: _reciprocal,
        -2: lambda x: _reciprocal(_multiply(x, x)),
    }
