"""Quantized tensors: from numbers to integers and back, and rounding as they do in floating point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..api import _functions as ops
from ..deprecation import warn_once
from ..devices import device as Device
from ..dispatch.registry import find_overload
from ..dispatch.registry import register_composite as composite
from ..dtypes import dtype, float32, scalar_type_name
from ..errors import no_kernel
from ..formats import contiguous_format
from ..layout import suggested_format
from ..quantized.tensors import (
    INTEGERS,
    PerChannel,
    PerTensor,
    Quantizer,
    is_quantized,
    qscheme,
    quantized,
    range_of,
)
from ..tensor import Tensor, wrap_dim

# From numbers to integers


def _warn() -> None:
    warn_once(
        "torch.quantize_per_tensor, torch.quantize_per_channel and other quantized tensor creation functions that "
        "produce tensors with dtype torch.quint8, torch.qint8, and torch.qint32 are deprecated and will be removed in "
        "a future PyTorch release. Please see https://github.com/pytorch/pytorch/issues/184982 for more information.",
        stacklevel=4,
    )


def _check_numbers(self: Any) -> None:
    if is_quantized(self):
        raise no_kernel("Could not run 'aten::quantize_per_tensor' with arguments from the 'QuantizedCPU' backend.")
    if self.dtype is not float32:
        raise RuntimeError(f"Quantize only works on Float Tensor, got {scalar_type_name(self.dtype)}")


def _check_dtype(d: dtype) -> None:
    if d in (dtypes.quint4x2, dtypes.quint2x4):
        raise NotImplementedError(f"quantized tensors of {d} are not supported; quint8, qint8 and qint32 are")
    if d not in INTEGERS:
        raise RuntimeError(f"ScalarType {scalar_type_name(d)} is not supported in new_qtensor.")


def _check_zero_point(name: str, zero_point: int, d: dtype) -> None:
    low, high = range_of(d)
    if zero_point > high:
        raise RuntimeError(f"{name} zero_point {zero_point} is above upper bound.")
    if zero_point < low:
        raise RuntimeError(f"{name} zero_point {zero_point} is below lower bound.")


def quantized_elements(self: Any, quantizer: Quantizer, d: dtype) -> Tensor:
    """The integers of float32 numbers: round(self / scale) + zero_point, bounded by the dtype."""
    low, high = range_of(d)
    if isinstance(quantizer, PerTensor):
        zero_point: Any = quantizer.zero_point
        scaled = self.to(float32) * _inverse(quantizer.scale)
    else:
        scales, zero_point = _along(quantizer, self.dim())
        scaled = self.to(float32) * scales.to(float32).reciprocal()
    if isinstance(quantizer, PerTensor) and d is not dtypes.qint32:
        scaled = ops.where(scaled.isnan(), math.inf, scaled)  # as PyTorch's vectorized loop bounds it
    if isinstance(zero_point, Tensor):
        zero_point = zero_point.to(float32)
    shifted = scaled + zero_point
    if isinstance(quantizer, PerTensor) and d is not dtypes.qint32:  # PyTorch's loop rounds product and sum together
        exact = self.to(dtypes.float64) * _inverse(quantizer.scale) + zero_point
        shifted = ops.where(shifted.isfinite(), exact.to(float32), shifted)
    rounded = shifted.round().to(dtypes.float64)  # float32 does not hold the bounds of qint32
    return rounded.nan_to_num(low, math.inf, -math.inf).clamp(low, high).to(INTEGERS[d])


def _inverse(scale: float) -> float:
    """1 / scale in float32."""
    with np.errstate(all="ignore"):
        return float(np.float32(1) / np.float32(scale))


def _along(quantizer: PerChannel, dims: int) -> tuple[Tensor, Tensor]:
    """Scales and zero points with the channels' dimension in its place."""
    shape = [-1 if dim == quantizer.axis else 1 for dim in range(dims)]
    return quantizer.scales.reshape(shape), quantizer.zero_points.reshape(shape)


@composite("quantize_per_tensor")
def quantize_per_tensor(self: Any, scale: float, zero_point: int, dtype: dtype) -> Tensor:
    """self (*) -> (*)."""
    _warn()
    _check_dtype(dtype)
    _check_numbers(self)
    _check_zero_point("quantize_tensor_per_tensor_affine", zero_point, dtype)
    quantizer = PerTensor(scale, zero_point)
    return quantized(quantized_elements(_laid_out(self.detach()), quantizer, dtype), quantizer)


def _laid_out(tensor: Any) -> Tensor:
    """Row by row, or with channels last."""
    return tensor.contiguous(memory_format=suggested_format(tensor) or contiguous_format)  # type: ignore[no-any-return]


@composite("quantize_per_tensor.tensor_qparams")
def quantize_by_tensors(self: Any, scale: Any, zero_point: Any, dtype: dtype) -> Tensor:
    """self (*), scale (), zero_point () -> (*)."""
    return quantize_per_tensor(self, float(scale.item()), int(zero_point.item()), dtype)


@composite("quantize_per_tensor.tensors")
def quantize_each(tensors: Sequence[Any], scales: Any, zero_points: Any, dtype: dtype) -> Any:
    """tensors [(*)], scales (n), zero_points (n) -> [(*)]."""
    return tuple(quantize_by_tensors(t, scales[i], zero_points[i], dtype) for i, t in enumerate(tensors))


@composite("quantize_per_channel")
def quantize_per_channel(self: Any, scales: Any, zero_points: Any, axis: int, dtype: dtype) -> Tensor:
    """self (*), scales (channels), zero_points (channels) -> (*)."""
    _warn()
    _check_dtype(dtype)
    _check_numbers(self)
    quantizer = _per_channel(self, scales, zero_points, axis)
    return quantized(quantized_elements(_laid_out(self.detach()), quantizer, dtype), quantizer)


def _per_channel(self: Any, scales: Any, zero_points: Any, axis: int) -> PerChannel:
    if scales.dim() != 1:
        raise RuntimeError("scale tensor must have dimension 1")
    if zero_points.dim() != 1:
        raise RuntimeError("zero_points tensor must have dimension 1")
    if scales.numel() != zero_points.numel():
        raise RuntimeError("number of elements in scales and zero_points must match")
    if not 0 <= axis < self.dim():
        raise RuntimeError(
            f"Channel axis out of range in per channel affine quantization. Got: {axis}Expected: [0, {self.dim()})"
        )
    if scales.numel() != self.shape[axis]:
        raise RuntimeError(f"length of scales must equal to channel, expected {self.shape[axis]} got, {scales.numel()}")
    if zero_points.is_floating_point():
        return PerChannel(scales.detach().to(float32), zero_points.detach().to(float32), axis)
    return PerChannel(scales.detach().to(dtypes.float64), zero_points.detach().to(dtypes.int64), axis)


@composite("_choose_qparams_per_tensor")
def choose_qparams(self: Any, reduce_range: bool) -> tuple[float, int]:
    """self (*) -> the scale and zero point of quint8."""
    return parameters_for(self, 0, 127 if reduce_range else 255)


@composite("quantize_per_tensor_dynamic")
def quantize_dynamic(self: Any, dtype: dtype, reduce_range: bool) -> Tensor:
    """self (*) -> (*)."""
    if dtype not in (dtypes.quint8, dtypes.qint8):
        raise RuntimeError(f"dtype {scalar_type_name(dtype)} not supported")
    low, high = range_of(dtype)
    if reduce_range:
        low, high = low // 2, high // 2
    return quantize_per_tensor(self, *parameters_for(self, low, high), dtype)


def parameters_for(self: Any, low: int, high: int) -> tuple[float, int]:
    """The scale and zero point by which integers from `low` to `high` hold all elements, and zero exactly."""
    least = min(float(self.min().item()), 0.0) if self.numel() else 0.0
    greatest = max(float(self.max().item()), 0.0) if self.numel() else 0.0
    scale = (greatest - least) / (high - low)
    if _inverse(scale) == math.inf:
        scale = 0.1
    if 0 < scale < _LEAST_SCALE:
        grown, scale = _LEAST_SCALE / scale, _LEAST_SCALE
        if least == 0.0:
            greatest = scale * (high - low)
        elif greatest == 0.0:
            least = -scale * (high - low)
        else:
            least, greatest = least * grown, greatest * grown
    from_least, from_greatest = low - least / scale, high - greatest / scale
    error_least, error_greatest = abs(low) - abs(least / scale), abs(high) - abs(greatest / scale)
    zero_point = from_least if error_least < error_greatest else from_greatest
    return scale, int(min(max(round(zero_point), low), high))


#: Smaller scales are made this large, as in PyTorch: 6.1e-5 in float32.
_LEAST_SCALE = 6.09999988228082656860351562e-05


@composite("_make_per_tensor_quantized_tensor")
def of_integers(self: Any, scale: float, zero_point: int) -> Tensor:
    """self (*) of uint8, int8 or int32 -> (*)."""
    _warn()
    return quantized(self.detach().clone(), PerTensor(scale, zero_point))


@composite("_make_per_channel_quantized_tensor")
def of_integers_per_channel(self: Any, scale: Any, zero_point: Any, axis: int) -> Tensor:
    """self (*) of uint8, int8 or int32, scale (channels), zero_point (channels) -> (*)."""
    _warn()
    return quantized(self.detach().clone(), _per_channel(self, scale, zero_point, wrap_dim(axis, self.dim())))


@composite("_empty_affine_quantized")
def empty_quantized(
    size: Sequence[int], dtype: dtype | None, layout: Any, device: Device | None, pin_memory: Any, scale: float,
    zero_point: int, memory_format: Any,
) -> Tensor:  # fmt: skip
    """size -> a tensor of that shape."""
    if dtype is None or dtype not in INTEGERS:
        raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")
    integers = ops.empty(size, dtype=INTEGERS[dtype], layout=layout, device=device, pin_memory=bool(pin_memory))
    if memory_format is not None:
        integers = integers.contiguous(memory_format=memory_format)
    return quantized(integers, PerTensor(scale, zero_point))


# What they consist of


def _insides(name: str, self: Any) -> Any:
    if not is_quantized(self):
        raise no_kernel(f"Could not run 'aten::{name}' with arguments from the '{self.device.type.upper()}' backend.")
    return self._array


def _quantizer(name: str, self: Any, kind: type, words: str) -> Any:
    quantizer = _insides(name, self).quantizer
    if not isinstance(quantizer, kind):
        raise RuntimeError(
            f"Expected {words} to be true, but got false.  (Could this error message be improved?  If so, please "
            "report an enhancement request to PyTorch.)"
        )
    return quantizer


_ONE = "quantizer->qscheme() == kPerTensorAffine"
_SEVERAL = "quantizer->qscheme() == kPerChannelAffine || quantizer->qscheme() == kPerChannelAffineFloatQParams"


@composite("int_repr", explicit=True)
def int_repr(self: Any) -> Tensor:
    """self (*) -> (*)."""
    integers = _insides("int_repr", self).integers
    return integers.clone(memory_format=suggested_format(integers) or contiguous_format)  # type: ignore[no-any-return]


@composite("dequantize.self", explicit=True)
def dequantize(self: Any) -> Tensor:
    """self (*) -> (*)."""
    if not is_quantized(self):
        return self.to(float32)
    array = self._array
    quantizer = array.quantizer
    integers = _laid_out(array.integers).to(dtypes.int64 if self.dtype is dtypes.qint32 else float32)
    if isinstance(quantizer, PerTensor):
        return (integers - quantizer.zero_point).to(float32) * quantizer.scale
    scales, zero_points = _along(quantizer, self.dim())
    return ((integers - zero_points) * scales).to(float32)


@composite("dequantize.tensors")
def dequantize_each(tensors: Sequence[Any]) -> Any:
    """tensors [(*)] -> [(*)]."""
    run = find_overload("dequantize.self").call
    return tuple(run(tensor) for tensor in tensors)


@composite("q_scale", explicit=True)
def q_scale(self: Any) -> float:
    return _quantizer("q_scale", self, PerTensor, _ONE).scale  # type: ignore[no-any-return]


@composite("q_zero_point", explicit=True)
def q_zero_point(self: Any) -> int:
    return _quantizer("q_zero_point", self, PerTensor, _ONE).zero_point  # type: ignore[no-any-return]


@composite("q_per_channel_scales", explicit=True)
def q_per_channel_scales(self: Any) -> Tensor:
    """-> (channels)."""
    return _quantizer("q_per_channel_scales", self, PerChannel, _SEVERAL).scales  # type: ignore[no-any-return]


@composite("q_per_channel_zero_points", explicit=True)
def q_per_channel_zero_points(self: Any) -> Tensor:
    """-> (channels)."""
    return _quantizer("q_per_channel_zero_points", self, PerChannel, _SEVERAL).zero_points  # type: ignore[no-any-return]


@composite("q_per_channel_axis", explicit=True)
def q_per_channel_axis(self: Any) -> int:
    return _quantizer("q_per_channel_axis", self, PerChannel, _SEVERAL).axis  # type: ignore[no-any-return]


@composite("qscheme", explicit=True)
def scheme_of(self: Any) -> qscheme:
    return _insides("qscheme", self).quantizer.scheme  # type: ignore[no-any-return]
