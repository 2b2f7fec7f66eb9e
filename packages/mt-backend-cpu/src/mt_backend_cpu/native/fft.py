"""Fourier transforms by the native library: several sequences of sizes with small factors, side by side."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import complex64, float32

from ..registry import kernel
from . import library

#: Factors of each stage, their twiddles, and the roots that transforms of real numbers need besides.
Plan = tuple[Any, Any, Any]

#: Longer sequences leave the caches; of fewer, most lanes would be idle.
_LONGEST, _FEWEST = 1 << 14, 8


def _roots(numbers: Any, order: int) -> Any:
    angles = np.exp(-2j * np.pi * (np.asarray(numbers) % order) / order)
    return np.stack([angles.real, angles.imag], -1).astype(np.float32)


@functools.lru_cache(maxsize=64)
def _plan(n: int) -> Plan | None:
    """For sequences of n elements; None where n has other factors than 2, 3 and 5."""
    factors, rest = [], n
    for radix in (4, 2, 3, 5):
        while rest % radix == 0:
            factors.append(radix)
            rest //= radix
    if rest != 1:
        return None
    twiddles, order = [np.empty(0, np.float32)], n
    for radix in factors:
        products = np.arange(order // radix)[:, None] * np.arange(1, radix)
        twiddles.append(_roots(products, order).ravel())
        order //= radix
    return np.array(factors, np.int32), np.concatenate(twiddles), _roots(np.arange(n + 1), 2 * n).ravel()


def _scale(normalization: int, sizes: list[int]) -> float:
    return (1.0, 1 / math.sqrt(math.prod(sizes)), 1 / math.prod(sizes))[normalization]


def _is_taken(tensor: Any, dim: Any, halves: int | None) -> bool:
    """Whether all sequences have such sizes; `halves` is what the last of `dim` has in place of its own size."""
    shape = tensor._array.shape
    if not dim or 0 in shape or len(set(dim)) < len(dim):
        return False
    sizes = [shape[d] for d in dim]
    if halves is not None:
        sizes[-1] = halves
    lanes = math.prod(shape) // max(shape[d] for d in dim)
    return lanes >= _FEWEST and all(0 < n <= _LONGEST and _plan(n) is not None for n in sizes)


if library is not None:
    _complex, _from_real, _to_real = library.fft_complex, library.fft_from_real, library.fft_to_real

    def _takes_complex(self: Any, dim: Any, normalization: int, forward: bool) -> bool:
        return _is_taken(self, dim, None)

    def _takes_real(self: Any, dim: Any, normalization: int, onesided: bool) -> bool:
        n = self._array.shape[dim[-1]] if dim else 0
        return bool(onesided) and n % 2 == 0 and _is_taken(self, dim, n // 2)

    def _makes_real(self: Any, dim: Any, normalization: int, last_dim_size: int) -> bool:
        n = int(last_dim_size)
        fits = bool(dim) and n % 2 == 0 and self._array.shape[dim[-1]] == n // 2 + 1
        return fits and _is_taken(self, dim, n // 2)

    def _each(x: Any, dim: Any, forward: bool, scale: float) -> Any:
        """Complex transforms along each dimension, the last one first; the scale goes with the last to be made."""
        for i, d in reversed(list(enumerate(dim))):
            x = _complex(x, d, _plan(x.shape[d]), forward, scale if i == 0 else 1.0)
        return x

    @kernel("_fft_c2c", accepts=Accepts(dtypes=frozenset((complex64,)), also=_takes_complex))
    def c2c(self: Any, dim: Any, normalization: int, forward: bool) -> Any:
        """self (*) of complex -> (*)."""
        return _each(self, dim, bool(forward), _scale(normalization, [self.shape[d] for d in dim]))

    @kernel("_fft_r2c", accepts=Accepts(dtypes=frozenset((float32,)), also=_takes_real))
    def r2c(self: Any, dim: Any, normalization: int, onesided: bool) -> Any:
        """self (*, N, *) of real -> (*, N // 2 + 1, *) of complex, along the last of `dim`."""
        scale = _scale(normalization, [self.shape[d] for d in dim])
        single = len(dim) == 1
        made = _from_real(self, dim[-1], _plan(self.shape[dim[-1]] // 2), True, scale if single else 1.0)
        return made if single else _each(made, dim[:-1], True, scale)

    @kernel("_fft_c2r", accepts=Accepts(dtypes=frozenset((complex64,)), also=_makes_real))
    def c2r(self: Any, dim: Any, normalization: int, last_dim_size: int) -> Any:
        """self (*, N // 2 + 1, *) of complex -> (*, last_dim_size, *) of real, along the last of `dim`."""
        sizes = [*(self.shape[d] for d in dim[:-1]), last_dim_size]
        made = _each(self, dim[:-1], False, 1.0)
        return _to_real(made, dim[-1], _plan(last_dim_size // 2), False, _scale(normalization, sizes))
