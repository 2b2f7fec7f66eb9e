"""Normalization over NumPy."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts

from ..blocks import constant
from ..registry import FLOATS, fused, kernel
from .reduction import accurate_sum, extent

Ints = tuple[int, ...]


def _row_by_row(array: np.ndarray, normalized_shape: Ints) -> np.ndarray:
    """The array as (rows, elements normalized together)."""
    if array.ndim == 2 and len(normalized_shape) == 1 and array.flags.c_contiguous:
        return array
    width = math.prod(normalized_shape)
    return np.ascontiguousarray(array).reshape(-1, width) if width else array.reshape(0, 0)


#: (rows, n), (rows, n) -> (rows,); the ufunc is NumPy 2's, and einsum's parsing costs as much as it.
_dot_of_rows = getattr(np, "vecdot", None) or functools.partial(np.einsum, "ij,ij->i")


#: Rows longer than this are summed pairwise: the error of their dot product would show.
_WIDE = 4096


def _statistics(rows: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(rows less their mean, mean, reciprocal standard deviation), the last two as columns."""
    width = constant(rows.shape[1], rows.dtype)
    mean = np.add.reduce(rows, 1, None, None, True)
    np.divide(mean, width, mean)
    centered = np.subtract(rows, mean)
    # A product of rows is fused but not summed pairwise.
    fused = rows.shape[1] <= _WIDE
    variance = _dot_of_rows(centered, centered) if fused else np.add.reduce(centered * centered, 1)
    np.divide(variance, width, variance)
    np.add(variance, constant(eps, rows.dtype), variance)
    np.sqrt(variance, variance)
    return centered, mean, np.reciprocal(variance, variance).reshape(-1, 1)


def _normalized(input: np.ndarray, normalized_shape: Ints, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any]:
    rows = _row_by_row(input, normalized_shape)
    centered, mean, rstd = _statistics(rows, eps)
    np.multiply(centered, rstd, centered)
    if weight is not None:
        np.multiply(centered, weight if weight.ndim == 1 else weight.reshape(-1), centered)
    if bias is not None:
        np.add(centered, bias if bias.ndim == 1 else bias.reshape(-1), centered)
    return (centered if rows is input else centered.reshape(input.shape)), mean, rstd


@kernel("native_layer_norm")
def native_layer_norm(
    input: np.ndarray, normalized_shape: Ints, weight: Any, bias: Any, eps: float
) -> tuple[Any, Any, Any]:
    """input (*L, *S), weight (*S), bias (*S) -> result (*L, *S), mean and 1/deviation (*L, 1, ..., 1)."""
    lead = input.ndim - len(normalized_shape)
    statistics = input.shape[:lead] + (1,) * len(normalized_shape)
    if not input.size:
        rows = math.prod(input.shape[:lead])
        empty = np.zeros(rows, input.dtype).reshape(statistics)
        return np.empty(input.shape, input.dtype), empty, empty.copy()
    out, mean, rstd = _normalized(input, normalized_shape, weight, bias, eps)
    return out, mean.reshape(statistics), rstd.reshape(statistics)


@fused("layer_norm", Accepts(dtypes=FLOATS, also=lambda input, *rest: input._array.size > 0))
def layer_norm(
    input: np.ndarray, normalized_shape: Ints, weight: Any, bias: Any, eps: float, cudnn_enable: bool
) -> Any:
    """input (*L, *S), weight (*S), bias (*S) -> (*L, *S)."""
    return _normalized(input, normalized_shape, weight, bias, eps)[0]


def _along(channels: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Numbers of the channels, (C,), to be broadcast against (N, C, *)."""
    return channels.reshape((-1,) + (1,) * (like.ndim - 2))


def _batch_axes(input: np.ndarray) -> Ints:
    return (0, *range(2, input.ndim))


@kernel("_batch_norm")
def batch_norm(
    input: np.ndarray, weight: Any, bias: Any, mean: Any, variance: Any, eps: float
) -> tuple[Any, Any, Any, Any]:
    """input (N, C, *), all others (C,) -> result (N, C, *), mean, 1/deviation (or (0,) where given), variance (C,)."""
    given = mean is not None
    if given:
        centered = input - _along(mean, input)
    else:
        axes = _batch_axes(input)
        count = input.dtype.type(extent(input.shape, axes))
        mean = accurate_sum(input, axes)
        np.true_divide(mean, count, mean)
        centered = input - _along(mean, input)
        variance = accurate_sum(centered * centered, axes)
        np.true_divide(variance, count, variance)
    rstd = np.reciprocal(np.sqrt(variance + input.dtype.type(eps)))
    np.multiply(centered, _along(rstd if weight is None else rstd * weight, input), centered)
    if bias is not None:
        np.add(centered, _along(bias, input), centered)
    if given:
        return centered, np.empty(0, input.dtype), np.empty(0, input.dtype), rstd
    return centered, mean, variance, rstd


@kernel("_batch_norm_backward")
def batch_norm_backward(
    grad_out: np.ndarray, input: np.ndarray, weight: Any, mean: np.ndarray, rstd: np.ndarray, training: bool,
    output_mask: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """grad_out and input (N, C, *), all others (C,) -> gradients of input, weight (C,), bias (C,)."""
    wanted_input, wanted_weight, wanted_bias = output_mask
    axes = _batch_axes(input)
    grad_weight = grad_bias = result = None
    if training or wanted_weight:
        normalized = input - _along(mean, input)
        np.multiply(normalized, _along(rstd, input), normalized)
        grad_weight = accurate_sum(grad_out * normalized, axes)
    if training or wanted_bias:
        grad_bias = accurate_sum(grad_out, axes)
    if wanted_input:
        scale = _along(rstd if weight is None else rstd * weight, input)
        if training:
            count = input.dtype.type(extent(input.shape, axes))
            np.multiply(normalized, _along(grad_weight / count, input), normalized)
            result = grad_out - _along(grad_bias / count, input)
            np.subtract(result, normalized, result)
            np.multiply(result, scale, result)
        else:
            result = grad_out * scale
    return result, grad_weight if wanted_weight else None, grad_bias if wanted_bias else None


@kernel("native_group_norm")
def native_group_norm(
    input: np.ndarray, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Any, Any, Any]:
    """input (N, C, *), weight (C,), bias (C,) -> result (N, C, *), mean (N, G), 1/deviation (N, G)."""
    if not input.size:
        return np.empty_like(input), np.zeros((N, group), input.dtype), np.full((N, group), np.nan, input.dtype)
    centered, mean, rstd = _statistics(_groups(input, N * group), eps)
    np.multiply(centered, rstd, centered)
    out = centered.reshape(input.shape)
    if weight is not None:
        np.multiply(out, _along(weight, out), out)
    if bias is not None:
        np.add(out, _along(bias, out), out)
    return out, mean.reshape(N, group), rstd.reshape(N, group)


def _groups(array: np.ndarray, count: int) -> np.ndarray:
    """The elements that are normalized together as rows."""
    return np.ascontiguousarray(array).reshape(count, array.size // count)


@kernel("native_group_norm_backward")
def native_group_norm_backward(
    grad_out: np.ndarray, input: np.ndarray, mean: np.ndarray, rstd: np.ndarray, weight: Any, N: int, C: int, HxW: int,
    group: int, output_mask: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """grad_out and input (N, C, *), mean and rstd (N, G), weight (C,) -> gradients of input, weight (C,), bias (C,)."""
    wanted_input, wanted_weight, wanted_bias = output_mask
    if not input.size:
        zeros = np.zeros(C, input.dtype)
        return np.zeros_like(input) if wanted_input else None, zeros, zeros.copy()
    count, scale, axes = N * group, rstd.reshape(-1, 1), _batch_axes(input)
    normalized = _groups(input, count) - mean.reshape(-1, 1)
    np.multiply(normalized, scale, normalized)
    result = grad_weight = None
    if wanted_weight:
        grad_weight = accurate_sum(grad_out * normalized.reshape(input.shape), axes)
    if wanted_input:
        weighted = _groups(grad_out if weight is None else grad_out * _along(weight, input), count)
        width = constant(weighted.shape[1], weighted.dtype)
        np.multiply(normalized, (_dot_of_rows(weighted, normalized) / width)[:, None], normalized)
        result = weighted - np.add.reduce(weighted, 1, keepdims=True) / width
        np.subtract(result, normalized, result)
        result = np.multiply(result, scale, result).reshape(input.shape)
    return result, grad_weight, accurate_sum(grad_out, axes) if wanted_bias else None


@kernel("native_layer_norm_backward")
def native_layer_norm_backward(
    grad_out: np.ndarray, input: np.ndarray, normalized_shape: Ints, mean: np.ndarray, rstd: np.ndarray, weight: Any,
    bias: Any,
    output_mask: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """grad_out and input (*L, *S), mean and rstd (*L, 1, ..., 1) -> gradients of input, weight (*S), bias (*S)."""
    wanted_input, wanted_weight, wanted_bias = output_mask
    if not input.size:
        zeros = np.zeros(normalized_shape, input.dtype)
        return np.zeros_like(input) if wanted_input else None, zeros, zeros.copy()
    grad, rows = _row_by_row(grad_out, normalized_shape), _row_by_row(input, normalized_shape)
    scale = rstd.reshape(-1, 1)
    normalized = (rows - mean.reshape(-1, 1)) * scale
    grad_input = grad_weight = grad_bias = None
    if wanted_weight:
        grad_weight = accurate_sum(grad * normalized, (0,)).reshape(normalized_shape)
    if wanted_bias:
        grad_bias = accurate_sum(grad, (0,)).reshape(normalized_shape)
    if wanted_input:
        width = rows.dtype.type(rows.shape[1])
        weighted = grad if weight is None else grad * weight.reshape(-1)
        along = np.einsum("ij,ij->i", weighted, normalized)[:, None] / width
        level = np.add.reduce(weighted, 1, keepdims=True) / width
        np.multiply(normalized, along, normalized)
        result = weighted - level
        np.subtract(result, normalized, result)
        grad_input = np.multiply(result, scale, result).reshape(input.shape)
    return grad_input, grad_weight, grad_bias
