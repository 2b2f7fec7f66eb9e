"""Shape rules of Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import scalar_type_name
from ..spec import Spec

Ints = tuple[int, ...]


@shape_rule("_fft_c2c")
def c2c(self: Any, dim: Ints, normalization: int, forward: bool) -> Spec:
    """self (*) of complex -> (*)."""
    shape = tuple(self._array.shape)
    return Spec(shape, self._dtype, _strides(self.stride(), shape, _by_stride(self, dim)))


@shape_rule("_fft_r2c")
def r2c(self: Any, dim: Ints, normalization: int, onesided: bool) -> Spec:
    """self (*, N, *) of real -> (*, N, *) of complex; one-sided: N // 2 + 1 along the last of `dim`."""
    if not self._dtype.is_floating_point:
        raise RuntimeError(f"Only supports floating-point dtypes, but found: {scalar_type_name(self._dtype)}")
    shape = list(self._array.shape)
    if onesided:
        shape[dim[-1]] = shape[dim[-1]] // 2 + 1
    dims = (*_by_stride(self, dim[:-1]), dim[-1])
    return Spec(shape, self._dtype.to_complex(), _strides(self.stride(), shape, dims))


@shape_rule("_fft_c2r")
def c2r(self: Any, dim: Ints, normalization: int, last_dim_size: int) -> Spec:
    """self (*, N // 2 + 1, *) of complex -> (*, last_dim_size, *) of real, along the last of `dim`."""
    shape = list(self._array.shape)
    shape[dim[-1]] = last_dim_size
    given = _strides(self.stride(), tuple(self._array.shape), _by_stride(self, dim[:-1]))
    return Spec(shape, self._dtype.to_real(), _strides(given, shape, dim[-1:]))


def _by_stride(self: Any, dim: Ints) -> Ints:
    """The dimensions, those of long steps first."""
    strides = self.stride()
    return tuple(sorted(dim, key=lambda d: -strides[d]))


def _set_apart(rank: int, dims: Ints) -> list[int]:
    """The dimensions that are not transformed, in PyTorch's order: each of `dims` gave its place to the last."""
    order = list(range(rank))
    first, last = 0, rank
    while True:
        while first < last and order[first] not in dims:
            first += 1
        last -= 1
        while first < last and order[last] in dims:
            last -= 1
        if first >= last:
            return order[:first]
        order[first], order[last] = order[last], order[first]
        first += 1


def _strides(given: Ints, shape: Sequence[int], dims: Ints) -> Ints:
    """Strides of a transform: its dimensions innermost, in the order in which it took them, the others as given."""
    others = sorted(_set_apart(len(shape), dims), key=lambda d: -given[d])
    strides, step = [0] * len(shape), 1
    for d in reversed((*others, *dims)):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)
