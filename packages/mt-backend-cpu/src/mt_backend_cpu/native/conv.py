"""Convolution by the native library."""

from __future__ import annotations

from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import bfloat16, float16, float32

from ..kernels.conv import turned_around
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

    @kernel("convolution", accepts=_SINGLE)
    def convolution(
        input: Any, weight: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
        output_padding: Ints, groups: int,
    ) -> Any:  # fmt: skip
        """input (N, C, *S), weight (O, C/groups, *K), bias (O,) -> (N, O, *T); transposed: weight (C, O/groups, *K)."""
        innermost = _channels_are_innermost(input) or _channels_are_innermost(weight)
        if transposed:
            input, weight = turned_around(input, weight, stride, padding, dilation, output_padding, groups)
            stride, padding = (1,) * len(stride), (0,) * len(padding)
        weight = _row_major(weight)
        if bias is not None:
            bias = _row_major(bias)
        return _correlate(input, weight, bias, stride, padding, dilation, groups, innermost)
