"""Batch normalization whose statistics are those of the batches of all processes of a group."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_autograd.function import Function, once_differentiable

__all__ = ["SynchronizedBatchNorm"]


def _per_channel(statistic: mt.Tensor, like: mt.Tensor) -> mt.Tensor:
    """Shape (C,) as (1, C, 1, ...), to go with (N, C, *)."""
    return statistic.reshape(1, -1, *[1] * (like.dim() - 2))


class SynchronizedBatchNorm(Function):
    """Normalizes (N, C, *) by the mean and variance of each channel over the batches of all processes.

    Statistics are computed in float32 for half types. A process's batch may be empty.
    """

    @staticmethod
    def forward(
        ctx: Any,
        input: mt.Tensor,
        weight: mt.Tensor | None,
        bias: mt.Tensor | None,
        running_mean: mt.Tensor | None,
        running_var: mt.Tensor | None,
        eps: float,
        momentum: float,
        group: Any,
    ) -> mt.Tensor:
        dtype = mt.float32 if input.dtype in (mt.float16, mt.bfloat16) else input.dtype
        values = input.to(dtype)
        dims = [0, *range(2, input.dim())]
        channels = input.shape[1]
        count = input.numel() // channels
        if count:
            mean = values.mean(dims)
            squares = (values - _per_channel(mean, input)).square().sum(dims)
        else:
            mean = squares = mt.zeros(channels, dtype=dtype, device=input.device)
        own = mt.cat([mean, squares, mt.full((1,), count, dtype=dtype, device=input.device)])
        everyone = [mt.empty_like(own) for _ in range(group.size())]
        group.allgather([everyone], [own]).wait()
        table = mt.stack(everyone)
        means, counts = table[:, :channels], table[:, -1:]
        total = counts.sum()
        if total.item() <= 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.size()}")
        mean = (means * counts).sum(0) / total
        squares = (table[:, channels:-1] + counts * (means - mean).square()).sum(0)
        variance = squares / total
        if running_mean is not None and running_var is not None:
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
            running_var.lerp_((squares / (total - 1)).to(running_var.dtype), momentum)
        inverse = (variance + eps).rsqrt()
        ctx.save_for_backward(input, weight, mean, inverse, total)
        ctx.group, ctx.has_bias = group, bias is not None
        result = (values - _per_channel(mean, input)) * _per_channel(inverse, input)
        if weight is not None:
            result = result * _per_channel(weight.to(dtype), input)
        if bias is not None:
            result = result + _per_channel(bias.to(dtype), input)
        return result.to(input.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: mt.Tensor) -> Any:
        input, weight, mean, inverse, total = ctx.saved_tensors
        dtype = mean.dtype
        dims = [0, *range(2, input.dim())]
        grad = grad.to(dtype)
        normal = (input.to(dtype) - _per_channel(mean, input)) * _per_channel(inverse, input)
        of_bias, of_weight = grad.sum(dims), (grad * normal).sum(dims)
        of_input = None
        if ctx.needs_input_grad[0]:
            sums = mt.cat([of_bias, of_weight])
            ctx.group.allreduce([sums]).wait()
            means = sums / total
            channels = input.shape[1]
            centred = grad - _per_channel(means[:channels], input) - normal * _per_channel(means[channels:], input)
            scale = inverse if weight is None else inverse * weight.to(dtype)
            of_input = (centred * _per_channel(scale, input)).to(input.dtype)
        of_weight = of_weight.to(weight.dtype) if weight is not None else None
        return of_input, of_weight, of_bias if ctx.has_bias else None, None, None, None, None, None
