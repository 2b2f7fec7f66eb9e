"""Normalization by the native library."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32
from mt_core.keys import STRIDED

from ..registry import fused, kernel
from . import library
from .view import row_by_row as _row_by_row

Ints = tuple[int, ...]

#: What `rms_norm` adds where it is told nothing.
_LEAST = float(np.finfo(np.float32).eps)

if library is not None:
    _layer_norm, _layer_norm_backward = library.layer_norm, library.layer_norm_backward
    _rms_norm, _group_norm, _group_norm_backward = library.rms_norm, library.group_norm, library.group_norm_backward
    _batch_norm, _batch_norm_backward = library.batch_norm, library.batch_norm_backward

    def _takes(input: Any, *rest: Any) -> bool:
        return input._array.size > 0

    _SINGLE = frozenset((float32,))
    _ROWS = Accepts(dtypes=_SINGLE, layout="row_major", also=_takes)

    def _has_rows(grad_out: Any, *rest: Any) -> bool:
        """Whether all but the gradient, which is often expanded, lie row by row, and there are elements."""
        return _takes(*rest) and not any(getattr(given, "_keys", 0) & STRIDED for given in rest)

    _GRADS = Accepts(dtypes=_SINGLE, also=_has_rows)

    def _are_last(input: Any, normalized_shape: Ints, *rest: Any) -> bool:
        return _takes(input) and input._array.shape[-len(normalized_shape) :] == tuple(normalized_shape)

    _LAST = Accepts(dtypes=_SINGLE, layout="row_major", also=_are_last)

    @kernel("native_layer_norm", accepts=_ROWS)
    def native_layer_norm(
        input: Any, normalized_shape: Ints, weight: Any, bias: Any, eps: float
    ) -> tuple[Any, Any, Any]:
        """input (*L, *S), weight (*S), bias (*S) -> result (*L, *S), mean and 1/deviation (*L, 1, ..., 1)."""
        statistics = input.shape[: input.ndim - len(normalized_shape)] + (1,) * len(normalized_shape)
        result, mean, rstd = _layer_norm(input, math.prod(normalized_shape), weight, bias, eps)
        return result, mean.reshape(statistics), rstd.reshape(statistics)

    @fused("layer_norm", _LAST)
    def layer_norm(input: Any, normalized_shape: Ints, weight: Any, bias: Any, eps: float, cudnn_enable: bool) -> Any:
        """input (*L, *S), weight (*S), bias (*S) -> (*L, *S)."""
        return _layer_norm(input, math.prod(normalized_shape), weight, bias, eps)[0]

    @kernel("native_layer_norm_backward", accepts=_GRADS)
    def native_layer_norm_backward(
        grad_out: Any,
        input: Any,
        normalized_shape: Ints,
        mean: Any,
        rstd: Any,
        weight: Any,
        bias: Any,
        output_mask: Any,
    ) -> tuple[Any, Any, Any]:
        """grad_out and input (*L, *S), mean and rstd (*L, 1, ..., 1) -> gradients of input, weight (*S), bias (*S)."""
        wanted_input, wanted_weight, wanted_bias = output_mask
        grad_input, grad_weight, grad_bias = _layer_norm_backward(
            _row_by_row(grad_out),
            input,
            math.prod(normalized_shape),
            mean,
            rstd,
            weight,
            wanted_input,
            wanted_weight or wanted_bias,
        )  # fmt: skip
        return (
            grad_input,
            grad_weight.reshape(normalized_shape) if wanted_weight else None,
            grad_bias.reshape(normalized_shape) if wanted_bias else None,
        )

    def _epsilon(eps: float | None) -> float:
        return _LEAST if eps is None else eps

    @fused("_fused_rms_norm", _LAST)
    def fused_rms_norm(input: Any, normalized_shape: Ints, weight: Any, eps: float | None) -> tuple[Any, Any]:
        """input (*L, *S), weight (*S) -> result (*L, *S), 1 / root mean square (*L, 1, ..., 1)."""
        statistics = input.shape[: input.ndim - len(normalized_shape)] + (1,) * len(normalized_shape)
        result, rstd = _rms_norm(input, math.prod(normalized_shape), weight, _epsilon(eps))
        return result, rstd.reshape(statistics)

    @fused("rms_norm", _LAST)
    def rms_norm(input: Any, normalized_shape: Ints, weight: Any, eps: float | None) -> Any:
        """input (*L, *S), weight (*S) -> (*L, *S)."""
        return _rms_norm(input, math.prod(normalized_shape), weight, _epsilon(eps))[0]

    @kernel("native_group_norm", accepts=_ROWS)
    def native_group_norm(
        input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
    ) -> tuple[Any, Any, Any]:
        """input (N, C, *), weight (C,), bias (C,) -> result (N, C, *), mean (N, G), 1/deviation (N, G)."""
        return _group_norm(input, group, weight, bias, eps)

    @kernel("native_group_norm_backward", accepts=_GRADS)
    def native_group_norm_backward(
        grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int, HxW: int, group: int,
        output_mask: Any,
    ) -> tuple[Any, Any, Any]:  # fmt: skip
        """grad_out and input (N, C, *), mean and rstd (N, G) -> gradients of input, weight (C,), bias (C,)."""
        wanted_input, wanted_weight, wanted_bias = output_mask
        grad_input, grad_weight, grad_bias = _group_norm_backward(
            _row_by_row(grad_out), input, group, mean, rstd, weight, wanted_input
        )
        return grad_input, grad_weight if wanted_weight else None, grad_bias if wanted_bias else None

    def _has_plain_numbers(input: Any, *numbers: Any) -> bool:
        """Whether there are elements, and a number for each channel lies beside the next."""
        return _takes(input) and not any(getattr(n, "_keys", 0) & STRIDED for n in numbers)

    def _has_plain_statistics(grad_out: Any, *rest: Any) -> bool:
        return _has_plain_numbers(*rest)

    @kernel("_batch_norm", accepts=Accepts(dtypes=_SINGLE, also=_has_plain_numbers))
    def batch_norm(
        input: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float
    ) -> tuple[Any, Any, Any, Any]:
        """input (N, C, *), all others (C,) -> result (N, C, *), mean, 1/deviation or (0,) if given, variance (C,)."""
        result, found, spread, rstd = _batch_norm(input, weight, bias, mean, variance, eps)
        if mean is not None:
            return result, np.empty(0, np.float32), np.empty(0, np.float32), rstd
        return result, found, spread, rstd

    @kernel("_batch_norm_backward", accepts=Accepts(dtypes=_SINGLE, also=_has_plain_statistics))
    def batch_norm_backward(
        grad_out: Any, input: Any, weight: Any, mean: Any, rstd: Any, training: bool, output_mask: Any
    ) -> tuple[Any, Any, Any]:
        """grad_out and input (N, C, *), all others (C,) -> gradients of input, weight (C,), bias (C,)."""
        wanted_input, wanted_weight, wanted_bias = output_mask
        grad_input, grad_weight, grad_bias = _batch_norm_backward(
            grad_out, input, weight, mean, rstd, training, wanted_input
        )
        return grad_input, grad_weight if wanted_weight else None, grad_bias if wanted_bias else None
