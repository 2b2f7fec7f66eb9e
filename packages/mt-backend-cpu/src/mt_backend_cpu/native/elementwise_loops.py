"""Elementwise operators by NumPy's own loops, which the native library calls, and divides among threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import bool as bool_dtype
from mt_core.dtypes import float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64

from ..kernels.elementwise import refuse_zero
from ..kernels.elementwise_power import complex_power, integer_power
from ..kernels.elementwise_rounding import whole
from ..registry import kernel, kernels
from . import library

if library is not None:
    _Loops = library.Loops

    #: What the library has no loops of its own for.
    _OTHERS = frozenset((bool_dtype, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64))
    kernels(
        {"add.Tensor": _Loops(np.add), "sub.Tensor": _Loops(np.subtract)},
        accepts=Accepts(dtypes=_OTHERS, defaults=("alpha",)),
    )
    kernels({"mul.Tensor": _Loops(np.multiply), "div.Tensor": _Loops(np.true_divide)}, accepts=Accepts(dtypes=_OTHERS))

    kernels({name: _Loops(function) for name, function in {
        "neg": np.negative, "abs": np.absolute, "sqrt": np.sqrt, "reciprocal": np.reciprocal, "hypot": np.hypot,
        "exp": np.exp, "expm1": np.expm1, "exp2": np.exp2, "log": np.log, "log1p": np.log1p, "log2": np.log2,
        "log10": np.log10, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
        "atan": np.arctan, "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh,
        "acosh": np.arccosh, "atanh": np.arctanh, "logaddexp2": np.logaddexp2, "deg2rad": np.deg2rad,
        "rad2deg": np.rad2deg, "copysign.Tensor": np.copysign, "copysign.Scalar": np.copysign,
        "bitwise_and.Tensor": np.bitwise_and, "bitwise_or.Tensor": np.bitwise_or,
        "bitwise_xor.Tensor": np.bitwise_xor, "bitwise_not": np.invert, "gcd": np.gcd, "lcm": np.lcm,
    }.items()})  # fmt: skip

    for _name, _function in (("ceil", np.ceil), ("floor", np.floor), ("trunc", np.trunc), ("round", np.rint)):
        kernel(_name)(whole(_Loops(_function)))

    _sqrt, _reciprocal, _square = (_Loops(function) for function in (np.sqrt, np.reciprocal, np.square))
    _power = _Loops(np.power, True)  # of integers it refuses negative exponents
    _multiply, _remainder, _fmod = (_Loops(function) for function in (np.multiply, np.remainder, np.fmod))

    @kernel("rsqrt")
    def rsqrt(self: Any) -> Any:
        """self (*) -> (*)."""
        root = _sqrt(self)
        return _reciprocal(root, out=root) if getattr(root, "ndim", 0) else np.reciprocal(root)

    @kernel("pow.Tensor_Tensor", "pow.Scalar")
    def power(self: Any, exponent: Any) -> Any:
        """self (*), exponent (*), broadcast -> the common shape."""
        kind = getattr(self, "dtype", getattr(exponent, "dtype", None)).kind
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

    @kernel("fmod.Tensor", "fmod.Scalar")
    def fmod(self: Any, other: Any) -> Any:
        """self (*), other (*), broadcast -> the common shape."""
        if self.dtype.kind in "iu":
            refuse_zero(self, other)
        return _fmod(self, other)
