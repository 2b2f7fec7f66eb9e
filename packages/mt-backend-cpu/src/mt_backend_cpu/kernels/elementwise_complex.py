"""Complex numbers over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import kernel


@kernel("_conj_physical")
def conj_physical(self: Any) -> Any:
    """self (*) -> (*)."""
    return np.conjugate(self) if self.dtype.kind == "c" else self.copy()


@kernel("angle")
def angle(self: Any) -> Any:
    """self (*) -> (*) of real."""
    if self.dtype.kind == "c":
        return np.arctan2(self.imag, self.real)
    return np.where(np.isnan(self), self, np.where(self < 0, self.dtype.type(np.pi), self.dtype.type(0)))


@kernel("complex", half="native")
def complex_(real: Any, imag: Any) -> Any:
    """real (*), imag (*), broadcast -> the common shape, of complex."""
    shape = np.broadcast_shapes(real.shape, imag.shape)
    if real.dtype == np.float16:
        result = np.empty(shape, [("real", np.float16), ("imag", np.float16)])
        result["real"], result["imag"] = real, imag
        return result
    result = np.empty(shape, np.result_type(real.dtype, np.complex64))
    result.real, result.imag = real, imag
    return result


@kernel("polar")
def polar(modulus: Any, angle: Any) -> Any:
    """modulus (*), angle (*), broadcast -> the common shape, of complex."""
    return complex_(modulus * np.cos(angle), modulus * np.sin(angle))
