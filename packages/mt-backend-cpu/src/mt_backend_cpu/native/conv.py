"""Convolution by the native library."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import bfloat16, float16, float32

from ..registry import kernel
from . import library

Ints = tuple[int, ...]

if library is not None:
    _correlate = library.correlate

    def _has_elements(input: Any, weight: Any, *rest: Any) -> bool:
        return 3 <= weight._array.ndim <= 5 and input._array.size > 0 and weight._array.size > 0

    #: Half types come widened.
    _SINGLE = Accepts(dtypes=frozenset((float32, bfloat16, float16)), also=_has_elements)

    def _row_major(array: Any) -> Any:
        return array if array.flags.c_contiguous else np.ascontiguousarray(array)

    def _channels_are_innermost(array: Any) -> bool:
        """Whether an image, or a volume, has its channels side by side in memory."""
        return array.ndim > 3 and array.strides[1] == array.itemsize and not array.flags.c_contiguous

    def _transposed(
        input: Any, weight: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints, output_padding: Ints,
        groups: int, innermost: bool,
    ) -> Any:  # fmt: skip
        """As `convolution` with `transposed`.

        For each remainder of places by the stride, the input is correlated with what of the kernel meets it there.
        """
        sizes, spatial = input.shape[2:], len(stride)
        total = [
            (n - 1) * s - 2 * p + d * (k - 1) + more + 1
            for n, s, p, d, k, more in zip(
                sizes, stride, padding, dilation, weight.shape[2:], output_padding, strict=True
            )
        ]
        phases = [
            [(r, _phase(r, k, s, p, d, size)) for r in range(min(s, size))]
            for k, s, p, d, size in zip(weight.shape[2:], stride, padding, dilation, total, strict=True)
        ]
        steps = (1,) * spatial
        plain = max(stride) == 1 and min(total) > 0
        result = None if plain else _empty(input.shape[0], weight.shape[1] * groups, total, innermost)
        for chosen in itertools.product(*phases):
            remainders, parts = zip(*chosen, strict=True)
            of_kernel, spread, before, count = zip(*parts, strict=True)
            part = 0 if bias is None else bias.reshape(-1, *steps)
            if None not in of_kernel:
                turned = _exchanged(weight[(slice(None), slice(None), *of_kernel)], groups)
                part = _correlate(input, turned, bias, steps, before, spread, groups, innermost, count)
            if result is None:
                return part
            result[(..., *(slice(r, None, s) for r, s in zip(remainders, stride, strict=True)))] = part
        return result

    def _phase(remainder: int, kernel: int, stride: int, padding: int, dilation: int, size: int) -> Any:
        """What of the kernel reaches places of a remainder, in reverse, None where there is nothing.

        And how far apart it lies in the input, how far the first place reaches before it, how many places there are.
        """
        count = -(-(size - remainder) // stride)
        taps = [k for k in range(kernel) if (remainder + padding - k * dilation) % stride == 0]
        if not taps:
            return None, 1, 0, count
        step = taps[1] - taps[0] if len(taps) > 1 else 1
        spread = step * dilation // stride if len(taps) > 1 else 1
        first = (remainder + padding - taps[0] * dilation) // stride
        end = taps[0] - 1
        return slice(taps[-1], end if end >= 0 else None, -step), spread, (len(taps) - 1) * spread - first, count

    def _exchanged(weight: Any, groups: int) -> Any:
        """weight (C, O/groups, *K) -> (O, C/groups, *K)."""
        rest, per_group = weight.shape[1:], weight.shape[0] // groups
        inner = weight.reshape(groups, per_group, *rest).swapaxes(1, 2)
        return inner.reshape(groups * rest[0], per_group, *rest[1:])

    def _empty(n: int, channels: int, sizes: list[int], innermost: bool) -> Any:
        if innermost:
            return np.moveaxis(np.empty((n, *sizes, channels), np.float32), -1, 1)
        return np.empty((n, channels, *sizes), np.float32)

    @kernel("convolution", accepts=_SINGLE)
    def convolution(
        input: Any, weight: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
        output_padding: Ints, groups: int,
    ) -> Any:  # fmt: skip
        """input (N, C, *S), weight (O, C/groups, *K), bias (O,) -> (N, O, *T); transposed: weight (C, O/groups, *K)."""
        innermost = _channels_are_innermost(input) or _channels_are_innermost(weight)
        if bias is not None:
            bias = _row_major(bias)
        if transposed:
            return _transposed(input, weight, bias, stride, padding, dilation, output_padding, groups, innermost)
        return _correlate(input, weight, bias, stride, padding, dilation, groups, innermost)
