"""Powers and roots over NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..registry import kernel, kernels

kernels({"sqrt": np.sqrt, "reciprocal": np.reciprocal, "hypot": np.hypot})


@kernel("rsqrt")
def rsqrt(self: Any) -> Any:
    """self (*) -> (*)."""
    root = np.sqrt(self)
    return np.reciprocal(root, out=root) if root.ndim else np.reciprocal(root)


@kernel("pow.Tensor_Tensor", "pow.Scalar")
def power(self: Any, exponent: Any) -> Any:
    """self (*), exponent (*), broadcast -> the common shape."""
    self, exponent = np.asarray(self), np.asarray(exponent)
    if self.dtype.kind == "c":
        return complex_power(self, exponent)
    return integer_power(self, exponent) if self.dtype.kind == "i" else np.power(self, exponent)


def integer_power(base: Any, exponent: Any) -> Any:
    """Powers of integers: a negative exponent gives 0, except for the bases 1 and -1."""
    negative = exponent < 0
    if not negative.any():
        return np.power(base, exponent)
    # An odd exponent keeps the sign of -1; those of other bases are not looked at.
    raised = np.power(base, np.where(negative, exponent & 1, exponent))
    return np.where(negative & (base != 1) & (base != -1), 0, raised).astype(raised.dtype)


def complex_power(base: Any, exponent: Any) -> Any:
    """exp(exponent * log(base)), also for a zero base: 0 ** 0 is NaN."""
    return np.where(base == 0, np.exp(exponent * np.log(base)), np.power(base, exponent))


@kernel("pow.Tensor_Scalar")
def power_of_number(self: Any, exponent: Any) -> Any:
    """self (*), exponent a number -> (*).

    Small exponents are products and roots, as in PyTorch: faster, and exact where ``x * x`` is.
    """
    shortcut = _SHORTCUTS.get(exponent.item() if exponent.__class__ is np.ndarray else exponent)
    if shortcut is not None and self.dtype.kind in "fc":
        return shortcut(self)
    return complex_power(self, exponent) if self.dtype.kind == "c" else np.power(self, exponent)


_SHORTCUTS: dict[Any, Callable[[Any], Any]] = {
    0: np.ones_like,
    0.5: np.sqrt,
    1: np.copy,
    2: np.square,
    3: lambda x: x * x * x,
    -0.5: rsqrt,
    -1: np.reciprocal,
    -2: lambda x: np.reciprocal(x * x),
}


# As in PyTorch, the power of two is rounded to the exponents' own dtype before it multiplies.
@kernel("ldexp.Tensor", half="native")
def ldexp(self: Any, other: Any) -> Any:
    """self (*), other (*), broadcast -> the common shape."""
    self, stored = in_single(self), other.dtype
    if self.dtype.kind == "f" and stored.kind in "iu":
        return np.ldexp(self, np.clip(other, -10_000, 10_000).astype(np.int32))
    if self.dtype.kind == "c" or stored.kind == "c":
        return self * np.power(2 + 0j, in_single(other))
    if stored.kind in "iub":
        return self * np.exp2(other, dtype=np.float32)
    return self * in_single(np.exp2(in_single(other)).astype(stored))


def rounded(value: Any, stored: Any) -> Any:
    """What an element type keeps of a value that is computed with further; of half types, in float32."""
    return in_single(value.astype(stored, copy=False))


def in_single(array: Any) -> Any:
    """Half types as float32, others as they are."""
    return array.astype(np.float32) if array.dtype.itemsize < 4 and array.dtype.kind not in "iub" else array
