"""Losses of classes; the others are written in other operators."""

from __future__ import annotations

import jax.numpy as jnp

from ..calls import Call, Value, convert, jax_dtype, opmath
from .table import lower

__all__: list[str] = []

_NONE, _MEAN = 0, 1


def _weights(call: Call, self: Value, target: Value, weight: Value | None, ignore_index: int) -> tuple[Value, Value]:
    """For each row what it counts, nothing where it is ignored, and its class; classes are the second dimension."""
    dtype = jax_dtype(opmath(call.dtype))
    ignored = target == ignore_index
    classes = self.shape[1 if self.ndim > 1 else 0]
    call.check((ignored | (target >= 0) & (target < classes)).all(), IndexError, "Target is out of bounds.")
    chosen = jnp.where(ignored, 0, target)
    counts = jnp.ones(target.shape, dtype) if weight is None else convert(weight, dtype)[chosen]
    return jnp.where(ignored, 0, counts), chosen


@lower("nll_loss_forward", "nll_loss2d_forward")
def _nll_loss(
    call: Call, self: Value, target: Value, weight: Value | None, reduction: int, ignore_index: int
) -> list[Value]:
    counts, chosen = _weights(call, self, target, weight, ignore_index)
    axis = 1 if self.ndim > 1 else 0
    x = convert(self, counts.dtype)
    picked = jnp.take_along_axis(x, jnp.expand_dims(chosen, axis), axis).squeeze(axis)
    losses = jnp.where(target == ignore_index, 0, -picked * counts)
    if reduction == _NONE and self.ndim > 1:
        return [call.result(losses, 0), call.result(jnp.zeros((), counts.dtype), 1)]
    total, count = losses.sum(), counts.sum()
    return [call.result(total / count if reduction == _MEAN else total, 0), call.result(count, 1)]


@lower("nll_loss_backward", "nll_loss2d_backward")
def _nll_loss_backward(
    call: Call, grad: Value, self: Value, target: Value, weight: Value | None, reduction: int, ignore_index: int,
    total_weight: Value,
) -> Value:  # fmt: skip
    counts, chosen = _weights(call, self, target, weight, ignore_index)
    axis = 1 if self.ndim > 1 else 0
    scale = convert(grad, counts.dtype)
    if reduction == _MEAN:
        scale = scale / convert(total_weight, counts.dtype)
    here = jnp.arange(self.shape[axis]).reshape(-1, *(1,) * (self.ndim - 1 - axis)) == jnp.expand_dims(chosen, axis)
    return call.result(
        jnp.where(here & jnp.expand_dims(target != ignore_index, axis), -jnp.expand_dims(counts * scale, axis), 0)
    )
