"""What quantized tensors are made of: integers and their `Quantizer` in place of an array."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..block import block_of
from ..cell import cell_of
from ..devices import backend_key
from ..dtypes import dtype
from ..errors import no_kernel
from ..formats import _Named
from ..keys import OTHER_INDEX, QUANTIZED, STRIDED
from ..meta_array import HollowArray
from ..state import mode_triple, tls
from ..tensor import Tensor

__all__ = [
    "INTEGERS", "PerChannel", "PerTensor", "QuantizedArray", "Quantizer", "is_quantized", "per_channel_affine",
    "per_channel_affine_float_qparams", "per_channel_symmetric", "per_tensor_affine", "per_tensor_symmetric",
    "qscheme", "quantized", "quantized_dtype", "range_of",
]  # fmt: skip


class qscheme(_Named):
    """How integers stand for numbers: one scale and zero point, or one for each index of a dimension."""

    __slots__ = ()


per_tensor_affine = qscheme("per_tensor_affine")
per_channel_affine = qscheme("per_channel_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_symmetric = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")

#: Quantized dtype -> the dtype of its integers.
INTEGERS = {dtypes.quint8: dtypes.uint8, dtypes.qint8: dtypes.int8, dtypes.qint32: dtypes.int32}


def quantized_dtype(integers: dtype) -> dtype:
    """The quantized dtype of an integer one.

    Raises
    ------
    RuntimeError
        Where there is none.
    """
    for quantized, own in INTEGERS.items():
        if own is integers:
            return quantized
    raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")


def range_of(d: dtype) -> tuple[int, int]:
    """The least and greatest integers of a quantized dtype."""
    info = dtypes.iinfo(INTEGERS[d])
    return info.min, info.max


class PerTensor:
    """One scale and one zero point: an integer q stands for ``(q - zero_point) * scale``."""

    __slots__ = ("scale", "zero_point")
    scheme = per_tensor_affine

    def __init__(self, scale: float, zero_point: int) -> None:
        self.scale = scale
        self.zero_point = zero_point

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PerTensor) and (self.scale, self.zero_point) == (other.scale, other.zero_point)

    __hash__ = None  # type: ignore[assignment]


class PerChannel:
    """A scale and a zero point for each index of the dimension `axis`: float64 and int64, or both float32."""

    __slots__ = ("scales", "zero_points", "axis")

    def __init__(self, scales: Tensor, zero_points: Tensor, axis: int) -> None:
        self.scales = scales
        self.zero_points = zero_points
        self.axis = axis

    @property
    def scheme(self) -> qscheme:
        is_float = self.zero_points.dtype.is_floating_point
        return per_channel_affine_float_qparams if is_float else per_channel_affine

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PerChannel) and self.axis == other.axis and self.scheme is other.scheme
            and self.scales.equal(other.scales) and self.zero_points.equal(other.zero_points)
        )  # fmt: skip

    __hash__ = None  # type: ignore[assignment]


Quantizer = PerTensor | PerChannel


class QuantizedArray(HollowArray):
    """What quantized tensors have in place of memory: a tensor of integers, whose layout is theirs, and a quantizer."""

    __slots__ = ("integers", "quantizer")
    integers: Tensor
    quantizer: Quantizer

    def __init__(self, integers: Tensor, quantizer: Quantizer, d: dtype) -> None:
        super().__init__(tuple(integers.shape), d, integers.stride(), integers.storage_offset(), integers.device)
        self.integers = integers
        self.quantizer = quantizer

    def elements_for(self, use: str) -> Any:
        """The integers, where memory is asked for; else the numbers that they stand for."""
        from ..dispatch.registry import find_overload  # lazy: operators import what is here

        if use == "memory":
            return self.integers
        if use in ("item", "bool"):
            return find_overload("dequantize.self").call(quantized(self.integers, self.quantizer))
        raise no_kernel(f"quantized tensors have no {use}")

    def resized(self, tensor: Any, shape: Any, strides: Any) -> Any:
        raise no_kernel("Could not run 'aten::resize_' with arguments from the 'QuantizedCPU' backend.")


def is_quantized(value: Any) -> bool:
    """Whether a value is a quantized tensor."""
    return isinstance(getattr(value, "_array", None), QuantizedArray)


def quantized(integers: Tensor, quantizer: Quantizer) -> Tensor:
    """The tensor of these integers, on their memory."""
    d = quantized_dtype(integers._dtype)
    made = object.__new__(Tensor)
    made._array, made._dtype = QuantizedArray(integers, quantizer, d), d
    on = integers.device
    kept = integers._keys & (STRIDED | OTHER_INDEX)
    made._keys = QUANTIZED | backend_key(on.type) | kept | mode_triple(tls.mode)[2]
    made._autograd = made._base = None
    block_of(integers)  # which the quantized tensor shares: it could make none of its own
    made._cell = cell_of(integers)
    return made
