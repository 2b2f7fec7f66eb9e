"""Normalization by the native library."""

from __future__ import annotations

import math
from typing import Any

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32

from ..registry import fused, kernel
from . import library

if library is not None:
    _layer_norm = library.layer_norm

    def _takes(input: Any, *rest: Any) -> bool:
        return input._array.size > 0

    _ROWS = Accepts(dtypes=frozenset((float32,)), layout="row_major", also=_takes)

    @kernel("native_layer_norm", accepts=_ROWS)
    def native_layer_norm(
        input: Any, normalized_shape: tuple[int, ...], weight: Any, bias: Any, eps: float
    ) -> tuple[Any, Any, Any]:
        """input (*L, *S), weight (*S), bias (*S) -> result (*L, *S), mean and 1/deviation (*L, 1, ..., 1)."""
        statistics = input.shape[: input.ndim - len(normalized_shape)] + (1,) * len(normalized_shape)
        result, mean, rstd = _layer_norm(input, math.prod(normalized_shape), weight, bias, eps)
        return result, mean.reshape(statistics), rstd.reshape(statistics)

    @fused("layer_norm", _ROWS)
    def layer_norm(
        input: Any, normalized_shape: tuple[int, ...], weight: Any, bias: Any, eps: float, cudnn_enable: bool
    ) -> Any:
        """input (*L, *S), weight (*S), bias (*S) -> (*L, *S)."""
        return _layer_norm(input, math.prod(normalized_shape), weight, bias, eps)[0]
