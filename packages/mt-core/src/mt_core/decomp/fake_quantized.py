"""Rounding as quantized tensors do, in floating point, with straight-through gradients.

Esser et al., "Learned Step Size Quantization" (2020), for the gradients of scale and zero point.
"""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import find_overload
from ..dispatch.registry import register_composite as composite
from ..dtypes import scalar_type_name
from ..hollow import has_elements
from ..tensor import Tensor

__all__: list[str] = []


def _check_range(quant_min: int, quant_max: int) -> None:
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")


def _check_zero_point(least: Any, greatest: Any, quant_min: int, quant_max: int) -> None:
    if not (quant_min <= least and greatest <= quant_max):
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")


def _check_floating(self: Any, name: str) -> None:
    if not self.dtype.is_floating_point:
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar_type_name(self.dtype)}'")


def _rounded(self: Any, scale: Any, zero_point: Any) -> Tensor:
    """round(self / scale) + zero_point, in float32; of NaN the least."""
    found = (self.to(dtypes.float32) * scale.reciprocal()).round() + zero_point
    return ops.where(found.isnan(), -math.inf, found)


def _rounded_by_channel(self: Any, scale: Any, zero_point: Any) -> Tensor:
    """The same, where what is no number of int64 is the least, and zero points that are no integers round along."""
    scaled = self.to(dtypes.float32) * scale.reciprocal()
    found = (scaled + zero_point).round() if zero_point.is_floating_point() else scaled.round() + zero_point
    return ops.where(found.abs() < 2.0**63, found, -math.inf)


def _both(
    self: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int, rounded: Any = _rounded
) -> tuple[Tensor, Tensor]:
    found = rounded(self, scale, zero_point)
    mask = (found >= quant_min).logical_and(found <= quant_max)
    return ((found.clamp(quant_min, quant_max) - zero_point) * scale).to(self.dtype), mask


# One scale


@composite("fake_quantize_per_tensor_affine")
def fake_quantize(self: Any, scale: float, zero_point: int, quant_min: int, quant_max: int) -> Tensor:
    """self (*) -> (*)."""
    run = find_overload("fake_quantize_per_tensor_affine_cachemask").call
    return run(self, scale, zero_point, quant_min, quant_max)[0]  # type: ignore[no-any-return]


@composite("fake_quantize_per_tensor_affine_cachemask", explicit=True)
def fake_quantize_cachemask(self: Any, scale: float, zero_point: int, quant_min: int, quant_max: int) -> Any:
    """self (*) -> (*), (*)."""
    _check_range(quant_min, quant_max)
    _check_zero_point(zero_point, zero_point, quant_min, quant_max)
    _check_floating(self, "fake_quantize_tensor_cachemask_kernel_type_handling")
    return _both(self, ops.full((), scale, dtype=dtypes.float32, device=self.device), zero_point, quant_min, quant_max)


@composite("fake_quantize_per_tensor_affine.tensor_qparams")
def fake_quantize_by_tensors(self: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Tensor:
    """self (*), scale (1), zero_point (1) -> (*)."""
    run = find_overload("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams").call
    enabled = ops.ones(1, dtype=dtypes.int64, device=self.device)
    return run(self, scale, zero_point, enabled, quant_min, quant_max)[0]  # type: ignore[no-any-return]


@composite("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", explicit=True)
def fake_quantize_by_tensors_cachemask(
    self: Any, scale: Any, zero_point: Any, fake_quant_enabled: Any, quant_min: int, quant_max: int
) -> Any:
    """self (*), scale (1), zero_point (1), fake_quant_enabled (1) -> (*), (*)."""
    _check_range(quant_min, quant_max)
    _check_floating(self, "fake_quantize_tensor_cachemask_kernel_type_handling")
    if not (has_elements(scale) and has_elements(zero_point) and has_elements(fake_quant_enabled)):
        return _both(self, ops.full((), 1.0, dtype=dtypes.float32, device=self.device), 0, quant_min, quant_max)
    if not fake_quant_enabled.item():
        return self.clone(), ops.ones_like(self, dtype=dtypes.bool)
    scale = ops.full((), scale.item(), dtype=dtypes.float32, device=self.device)
    return _both(self, scale, _whole(zero_point.item()), quant_min, quant_max)


def _whole(number: Any) -> int:
    if isinstance(number, complex):
        raise RuntimeError("value cannot be converted to type int without overflow")
    return int(number)


# One for each channel


def _check_channels(self: Any, scale: Any, zero_point: Any, axis: int) -> None:
    if scale.dim() != 1:
        raise RuntimeError("scale should be a 1-D tensor")
    if zero_point.dim() != 1:
        raise RuntimeError("zero point should be a 1-D tensor")
    if scale.numel() != zero_point.numel():
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    channels = self.size(axis)
    if axis < 0:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    if scale.numel() != channels:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")


def _in_place(values: Any, axis: int, dims: int) -> Tensor:
    """(channels) with the channels' dimension in its place."""
    return values.reshape([-1 if dim == axis else 1 for dim in range(dims)])  # type: ignore[no-any-return]


@composite("fake_quantize_per_channel_affine")
def fake_quantize_channels(self: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int) -> Tensor:
    """self (*), scale (channels), zero_point (channels) -> (*)."""
    run = find_overload("fake_quantize_per_channel_affine_cachemask").call
    return run(self, scale, zero_point, axis, quant_min, quant_max)[0]  # type: ignore[no-any-return]


@composite("fake_quantize_per_channel_affine_cachemask", explicit=True)
def fake_quantize_channels_cachemask(
    self: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int
) -> Any:
    """self (*), scale (channels), zero_point (channels) -> (*), (*)."""
    if scale.dtype not in (dtypes.float32, dtypes.bfloat16):
        raise RuntimeError(f"Scale must be Float or BFloat16, found {scalar_type_name(scale.dtype)}")
    if zero_point.dtype not in (dtypes.int32, dtypes.float32, dtypes.float16):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {scalar_type_name(zero_point.dtype)}")
    _check_channels(self, scale, zero_point, axis)
    _check_range(quant_min, quant_max)
    if zero_point.dtype is dtypes.int32 and zero_point.numel() and has_elements(zero_point):
        _check_zero_point(zero_point.min().item(), zero_point.max().item(), quant_min, quant_max)
    _check_floating(self, "fake_quantize_channel_cachemask_cpu_type_handling")
    dims = self.dim()
    scale, zero_point = _in_place(scale, axis, dims).to(dtypes.float32), _in_place(zero_point, axis, dims)
    return _both(self, scale, zero_point, quant_min, quant_max, _rounded_by_channel)


# Learned


def _learnable(self: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Tensor:
    return _both(self, scale, _nearest(zero_point, quant_min, quant_max), quant_min, quant_max)[0]


def _nearest(zero_point: Any, quant_min: int, quant_max: int) -> Any:
    return (zero_point + 0.5).floor().clamp(quant_min, quant_max)


@composite("_fake_quantize_learnable_per_tensor_affine", explicit=True)
def learnable(self: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int, grad_factor: float) -> Tensor:
    """self (*), scale (1), zero_point (1) -> (*)."""
    _check_floating(self, "fake_quantize_tensor_cachemask_kernel_type_handling")
    return _learnable(self, scale.reshape(()), zero_point.reshape(()), quant_min, quant_max)


@composite("_fake_quantize_learnable_per_channel_affine", explicit=True)
def learnable_channels(
    self: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int, grad_factor: float
) -> Tensor:
    """self (*), scale (channels), zero_point (channels) -> (*)."""
    if zero_point.is_complex() or zero_point.dtype is dtypes.bool:
        _check_floating(zero_point, "round_vml_cpu")
    if not scale.is_floating_point():
        raise RuntimeError(f"Scale must be Float or BFloat16, found {scalar_type_name(scale.dtype)}")
    _check_channels(self, scale, zero_point, axis)
    dims = self.dim()
    return _learnable(self, _in_place(scale, axis, dims), _in_place(zero_point, axis, dims), quant_min, quant_max)
