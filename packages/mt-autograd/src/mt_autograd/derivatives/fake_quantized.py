"""Derivatives of rounding as quantized tensors do: gradients pass straight through, within the range."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops

from ..rules import derivative, joint_derivative

for _name in (
    "fake_quantize_per_tensor_affine_cachemask", "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    "fake_quantize_per_channel_affine_cachemask",
):  # fmt: skip
    derivative(_name, self=lambda grad, result1: grad * result1)


def _learned(
    grad: Any, self: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int, factor: float
) -> tuple[Any, Any, Any]:
    """Gradients of self, and of scale and zero point before they are summed; those are broadcast with self."""
    zero_point = (zero_point + 0.5).floor().clamp(quant_min, quant_max)
    found = (self * scale.reciprocal() + zero_point).round()
    below, above = found < quant_min, found > quant_max
    outside = below.logical_or(above)
    rounding = (found - zero_point) - self / scale
    of_scale = ops.where(below, quant_min - zero_point, ops.where(above, quant_max - zero_point, rounding))
    of_zero_point = ops.where(outside, -scale, ops.zeros_like(scale))
    return ops.where(outside, ops.zeros_like(grad), grad), grad * of_scale * factor, grad * of_zero_point * factor


def _per_tensor(
    grads: Any, self: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int, grad_factor: float
) -> tuple[Any, ...]:
    of_self, of_scale, of_zero_point = _learned(
        grads[0], self, scale.reshape(()), zero_point.reshape(()), quant_min, quant_max, grad_factor
    )
    return of_self, of_scale.sum().reshape(scale.shape), of_zero_point.sum().reshape(zero_point.shape)


def _per_channel(
    grads: Any, self: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int, grad_factor: float
) -> tuple[Any, ...]:
    shape = [-1 if dim == axis else 1 for dim in range(self.dim())]
    others = [dim for dim in range(self.dim()) if dim != axis]
    of_self, of_scale, of_zero_point = _learned(
        grads[0], self, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max, grad_factor
    )
    summed = [one.sum(others) if others else one for one in (of_scale, of_zero_point)]
    return of_self, *summed


_ARGUMENTS = ("self", "scale", "zero_point")
joint_derivative("_fake_quantize_learnable_per_tensor_affine", _ARGUMENTS, _per_tensor)
joint_derivative("_fake_quantize_learnable_per_channel_affine", _ARGUMENTS, _per_channel)
