"""Layer normalization for backends that have kernels for ``sum``, ``rsqrt`` and arithmetic alone."""

from __future__ import annotations

from typing import Any

from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite

Ints = tuple[int, ...]


def _last(normalized_shape: Ints) -> Ints:
    return tuple(range(-len(normalized_shape), 0))


@composite("native_layer_norm", explicit=True)
def native_layer_norm(input: Any, normalized_shape: Ints, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any]:
    """input (*L, *S), weight (*S), bias (*S) -> result (*L, *S), mean and 1/deviation (*L, 1, ..., 1)."""
    dims = _last(normalized_shape)
    if not input._array.size:
        statistics = ops.sum(input, dims, True)
        return input, statistics, statistics
    mean = ops.mean(input, dims, True)
    centered = ops.sub(input, mean)
    rstd = ops.rsqrt(ops.add(ops.mean(ops.mul(centered, centered), dims, True), eps))
    result = ops.mul(centered, rstd)
    if weight is not None:
        result = ops.mul(result, weight)
    return result if bias is None else ops.add(result, bias), mean, rstd


@composite("native_layer_norm_backward", explicit=True)
def native_layer_norm_backward(
    grad_out: Any, input: Any, normalized_shape: Ints, mean: Any, rstd: Any, weight: Any, bias: Any, output_mask: Any
) -> tuple[Any, Any, Any]:
    """grad_out and input (*L, *S), mean and rstd (*L, 1, ..., 1) -> gradients of input, weight (*S), bias (*S)."""
    if not input._array.size:
        zeros = input.new_zeros(normalized_shape)
        return input, zeros, zeros
    dims, lead = _last(normalized_shape), tuple(range(input._array.ndim - len(normalized_shape)))
    normalized = ops.mul(ops.sub(input, mean), rstd)
    weighted = grad_out if weight is None else ops.mul(grad_out, weight)
    along = ops.mean(ops.mul(weighted, normalized), dims, True)
    slope = ops.sub(ops.sub(weighted, ops.mean(weighted, dims, True)), ops.mul(normalized, along))
    grad_input = ops.mul(slope, rstd)
    gradients = grad_input, _summed(ops.mul(grad_out, normalized), lead), _summed(grad_out, lead)
    return tuple([g if wanted else None for g, wanted in zip(gradients, output_mask, strict=True)])  # type: ignore[return-value]


def _summed(tensor: Any, dims: Ints) -> Any:
    return ops.sum(tensor, dims) if dims else tensor
