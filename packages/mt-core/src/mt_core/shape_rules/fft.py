"""Shape rules of Fourier transforms."""

from __future__ import annotations

from typing import Any

from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import scalar_type_name
from ..spec import Spec

Ints = tuple[int, ...]


@shape_rule("_fft_c2c")
def c2c(self: Any, dim: Ints, normalization: int, forward: bool) -> Spec:
    """self (*) of complex -> (*)."""
    return Spec(self._array.shape, self._dtype)


@shape_rule("_fft_r2c")
def r2c(self: Any, dim: Ints, normalization: int, onesided: bool) -> Spec:
    """self (*, N, *) of real -> (*, N, *) of complex; one-sided: N // 2 + 1 along the last of `dim`."""
    if not self._dtype.is_floating_point:
        raise RuntimeError(f"Only supports floating-point dtypes, but found: {scalar_type_name(self._dtype)}")
    shape = list(self._array.shape)
    if onesided:
        shape[dim[-1]] = shape[dim[-1]] // 2 + 1
    return Spec(shape, self._dtype.to_complex())


@shape_rule("_fft_c2r")
def c2r(self: Any, dim: Ints, normalization: int, last_dim_size: int) -> Spec:
    """self (*, N // 2 + 1, *) of complex -> (*, last_dim_size, *) of real, along the last of `dim`."""
    shape = list(self._array.shape)
    shape[dim[-1]] = last_dim_size
    return Spec(shape, self._dtype.to_real())
