"""Fourier transforms over NumPy's pocketfft."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..registry import kernel

#: NumPy's name for each scale, by direction: 1, 1/sqrt(n), 1/n.
_FORWARD = ("backward", "ortho", "forward")
_BACKWARD = ("forward", "ortho", "backward")


@kernel("_fft_c2c")
def c2c(self: np.ndarray, dim: Any, normalization: int, forward: bool) -> np.ndarray:
    """self (*) of complex -> (*)."""
    if not self.size:
        return self.copy()
    if forward:
        return np.fft.fftn(self, axes=dim, norm=_FORWARD[normalization])
    return np.fft.ifftn(self, axes=dim, norm=_BACKWARD[normalization])


@kernel("_fft_r2c")
def r2c(self: np.ndarray, dim: Any, normalization: int, onesided: bool) -> np.ndarray:
    """self (*, N, *) of real -> (*, N, *) of complex; one-sided: N // 2 + 1 along the last of `dim`."""
    if onesided:
        return np.fft.rfftn(self, axes=dim, norm=_FORWARD[normalization])
    return np.fft.fftn(self, axes=dim, norm=_FORWARD[normalization])


@kernel("_fft_c2r")
def c2r(self: np.ndarray, dim: Any, normalization: int, last_dim_size: int) -> np.ndarray:
    """self (*, N // 2 + 1, *) of complex -> (*, last_dim_size, *) of real, along the last of `dim`."""
    sizes = [*[self.shape[d] for d in dim[:-1]], last_dim_size]
    if not self.size:
        shape = list(self.shape)
        shape[dim[-1]] = last_dim_size
        return np.zeros(shape, self.real.dtype) * math.prod(sizes)
    return np.fft.irfftn(self, sizes, dim, norm=_BACKWARD[normalization])
