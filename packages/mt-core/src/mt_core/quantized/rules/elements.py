"""Copies, writes, comparison, joins and choices of elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...api import _functions as ops
from ...decomp.quantized import quantized_elements
from ...dispatch.registry import find_overload
from ...dtypes import float32
from ...formats import preserve_format
from ...layout import suggested_format
from ...return_types import result_type
from ...tensor import Tensor, wrap_dim
from ..layer import rule
from ..tensors import PerChannel, PerTensor, is_quantized, quantized

# Of either kind


@rule("clone")
def clone(self: Any, memory_format: Any) -> Tensor:
    return quantized(self._array.integers.clone(memory_format=memory_format), self._array.quantizer)


@rule("contiguous")
def contiguous(self: Any, memory_format: Any) -> Tensor:
    integers = self._array.integers
    made = integers.contiguous(memory_format=memory_format)
    return self if made is integers else quantized(made, self._array.quantizer)


@rule("detach", "alias", "view_as")
def detach(self: Any, *other: Any) -> Tensor:
    return quantized(self._array.integers.detach(), self._array.quantizer)


@rule("_to_copy")
def to_copy(
    self: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, non_blocking: bool, memory_format: Any
) -> Tensor:
    if dtype is not None and dtype is not self._dtype:
        raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")
    array = self._array
    moved = array.integers.to(device=device, memory_format=memory_format or preserve_format, copy=True)
    return quantized(moved, array.quantizer)


@rule("copy_")
def copy_(self: Any, src: Any, non_blocking: bool) -> Tensor:
    if not is_quantized(self):
        raise RuntimeError(
            "Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to get a "
            "float Tensor from a quantized Tensor"
        )
    array = self._array
    if not is_quantized(src):
        if src.dtype is not float32:
            raise RuntimeError(f"Quantized copy only works with kFloat as source Tensor, got {src.dtype}")
        if not self.is_contiguous() and suggested_format(self) is None:
            raise RuntimeError("Quantized copy only works with contiguous and NHWC Tensors")
        array.integers.copy_(quantized_elements(src, array.quantizer, self._dtype))
        return self
    other = src._array
    if array.quantizer.scheme is not other.quantizer.scheme:
        raise RuntimeError("Quantized Copy only works with same qscheme")
    if self._dtype is not src._dtype:
        raise RuntimeError("Quantized copy only works with same dtype")
    array.integers.copy_(other.integers)
    array.quantizer = other.quantizer
    return self


@rule("empty_like")
def empty_like(self: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Tensor:
    if dtype is not None and dtype is not self._dtype:
        raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")
    array = self._array
    made = ops.empty_like(array.integers, layout=layout, device=device, memory_format=memory_format)
    return quantized(made, array.quantizer)


@rule("equal")
def equal(self: Any, other: Any) -> bool:
    if not (is_quantized(self) and is_quantized(other)):
        return False
    one, two = self._array, other._array
    return self._dtype is other._dtype and one.quantizer == two.quantizer and bool(one.integers.equal(two.integers))


@rule("unsqueeze")
def unsqueeze(self: Any, dim: int) -> Tensor:
    quantizer, at = self._array.quantizer, wrap_dim(dim, self.dim() + 1)
    if isinstance(quantizer, PerChannel):
        axis = quantizer.axis + 1 if at <= quantizer.axis else quantizer.axis
        quantizer = PerChannel(quantizer.scales, quantizer.zero_points, axis)
    return quantized(self._array.integers.unsqueeze(dim), quantizer)


@rule("select.int")
def select(self: Any, dim: int, index: int) -> Tensor:
    """One index of a dimension; of the channels' own, a tensor of that channel's scale."""
    quantizer = self._array.quantizer
    made = self._array.integers.select(dim, index)
    if isinstance(quantizer, PerChannel):
        if wrap_dim(dim, self.dim()) != quantizer.axis:
            raise RuntimeError("select: Setting strides is possible only on uniformly quantized tensor")
        if quantizer.zero_points.dtype.is_floating_point:
            raise RuntimeError("select: not implemented for torch.per_channel_affine_float_qparams")
        quantizer = PerTensor(quantizer.scales[index].item(), int(quantizer.zero_points[index].item()))
    return quantized(made, quantizer)


# Of one scale


def _one_scale(name: str, tensor: Any) -> PerTensor:
    quantizer = tensor._array.quantizer if is_quantized(tensor) else None
    if not isinstance(quantizer, PerTensor):
        raise RuntimeError(f"Only per_tensor quantized quantized tensors are supported by {name}.")
    return quantizer


@rule("fill_.Scalar")
def fill_(self: Any, value: Any) -> Tensor:
    quantizer = _one_scale("fill_", self)
    element = ops.full((), float(value), dtype=float32, device=self.device)
    self._array.integers.fill_(quantized_elements(element, quantizer, self._dtype))
    return self


def _on_integers(name: str) -> None:
    """Operators that choose and move elements."""
    overload = find_overload(name)

    @rule(name)
    def run(self: Any, *args: Any) -> Any:
        quantizer = _one_scale(overload.schema.name, self)
        made = overload.call(self._array.integers, *args)
        if isinstance(made, Tensor):
            return quantized(made, quantizer)
        return result_type(overload.declaration)([quantized(made[0], quantizer), made[1]])


for _name in (
    "index.Tensor", "index_select", "flip", "max", "min", "max.dim", "min.dim", "sort", "sort.stable", "topk",
    "repeat", "unfold",
):  # fmt: skip
    _on_integers(_name)


def _compared(name: str) -> None:
    overload = find_overload(name)

    @rule(name)
    def run(self: Any, other: Any) -> Any:
        return overload.call(_numbers(self), _numbers(other))


def _numbers(value: Any) -> Any:
    return ops.dequantize(value) if is_quantized(value) else value


for _stem in ("eq", "ne", "lt", "le", "gt", "ge"):
    _compared(f"{_stem}.Tensor")


def _joined(tensors: Sequence[Any], join: Callable[[list[Any]], Tensor]) -> Tensor:
    """In the scale of the first; as numbers where scales differ."""
    first = tensors[0]
    quantizer = _one_scale("cat", first)
    for tensor in tensors:
        _one_scale("cat", tensor)
        if tensor._dtype is not first._dtype:
            raise RuntimeError("cat of quantized tensors takes tensors of one dtype")
    if all(tensor._array.quantizer == quantizer for tensor in tensors):
        return quantized(join([tensor._array.integers for tensor in tensors]), quantizer)
    made = join([_numbers(tensor) for tensor in tensors])
    return quantized(quantized_elements(made, quantizer, first._dtype), quantizer)


@rule("cat")
def cat(tensors: Sequence[Any], dim: int) -> Tensor:
    return _joined(tensors, lambda parts: ops.cat(parts, dim))


@rule("stack")
def stack(tensors: Sequence[Any], dim: int) -> Tensor:
    return _joined(tensors, lambda parts: ops.stack(parts, dim))


@rule("relu")
def relu(self: Any) -> Tensor:
    quantizer = _one_scale("relu", self)
    return quantized(self._array.integers.clamp(min=quantizer.zero_point), quantizer)
