"""Copies, casts, and tensors like others."""

from __future__ import annotations

from typing import Any

from ...api import _functions as ops
from ...decomp import _compressed
from ...formats import channels_last, channels_last_3d, contiguous_format, preserve_format, strided
from ...tensor import Tensor
from ..layer import rule
from ..tensors import Compressed, compressed, coordinates, empty_coordinates, is_coo, is_sparse, layout_name, replace

_NAMES = {
    preserve_format: "Preserve", contiguous_format: "Contiguous", channels_last: "ChannelsLast",
    channels_last_3d: "ChannelsLast3d",
}  # fmt: skip


@rule("clone")
def clone(self: Tensor, memory_format: Any) -> Tensor:
    """Raises RuntimeError for any memory format, as do those below."""
    if memory_format is not None:
        raise RuntimeError(f"unsupported memory format option {_NAMES[memory_format]}")
    array: Any = self._array
    if isinstance(array, Compressed):
        return compressed(array.pointers.clone(), array.plain.clone(), array.values.clone(), array.shape, array.layout)
    return coordinates(array.indices.clone(), array.values.clone(), array.shape, array.is_coalesced)


@rule("_to_copy")
def to_copy(
    self: Tensor, dtype: Any, layout: Any, device: Any, pin_memory: Any, non_blocking: bool, memory_format: Any
) -> Tensor:
    array: Any = self._array
    if layout is not None and layout is not array.layout:
        raise RuntimeError("to(options) doesn't support converting to a different layout, use to_dense or to_sparse")
    if memory_format not in (None, preserve_format):
        kind = "COO" if is_coo(self) else layout_name(self).removeprefix("Sparse")
        raise RuntimeError(
            f"to(options): {kind} only supports memory format Preserve, but got {_NAMES[memory_format]} instead."
        )
    values = array.values.to(device=device or self.device, dtype=dtype or self.dtype, copy=True)
    if isinstance(array, Compressed):
        pointers, plain = (part.to(device=values.device, copy=True) for part in (array.pointers, array.plain))
        return compressed(pointers, plain, values, array.shape, array.layout)
    indices = array.indices.to(device=values.device, copy=True)
    return coordinates(indices, values, array.shape, array.is_coalesced)


@rule("copy_")
def copy_(self: Tensor, src: Tensor, non_blocking: bool) -> Tensor:
    if not (is_sparse(self) and is_sparse(src)):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{self.type()} and src type = {src.type()}"
        )
    if self.layout is not src.layout:
        raise RuntimeError(f"copy_() between tensors of layouts {self.layout!r} and {src.layout!r} is not supported")
    made = src.to(dtype=self.dtype, device=self.device, copy=True)
    return replace(self, made)


@rule("zero_")
def zero_(self: Tensor) -> Tensor:
    array: Any = self._array
    if isinstance(array, Compressed):
        return replace(self, _compressed.with_values(array, ops.zeros_like(array.values)))
    return replace(self, empty_coordinates(array.shape, array.sparse_dim, self.dtype, self.device))


@rule("empty_like")
def empty_like(self: Tensor, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Tensor:
    """Of compressed tensors with the same indices, and zeros for values."""
    array: Any = self._array
    if is_coo(self):
        return zeros_like(self, dtype, layout, device, pin_memory, memory_format)
    if layout not in (None, array.layout):
        return zeros_like(self, dtype, layout, device, pin_memory, None)
    if memory_format not in (None, contiguous_format):
        raise RuntimeError(f"unsupported memory format {_NAMES[memory_format]}")
    values = ops.zeros_like(array.values, dtype=dtype, device=device)
    pointers, plain = (part.to(device=values.device, copy=True) for part in (array.pointers, array.plain))
    return compressed(pointers, plain, values, array.shape, array.layout)


@rule("zeros_like")
def zeros_like(self: Tensor, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Tensor:
    array: Any = self._array
    wanted = array.layout if layout is None else layout
    d, on = dtype or self.dtype, device or self.device
    if wanted is strided:
        made = ops.zeros(tuple(array.shape), dtype=d, device=on)
        return made if memory_format in (None, preserve_format) else made.contiguous(memory_format=memory_format)
    if wanted is not array.layout:
        raise RuntimeError(f"a tensor like one of layout {array.layout!r} cannot be made of layout {wanted!r}")
    if is_coo(self):
        if memory_format is not None:
            raise RuntimeError("memory format option is only supported by strided tensors")
        return empty_coordinates(array.shape, array.sparse_dim, d, on)
    pointers = ops.zeros_like(array.pointers, device=on)
    plain = array.plain[..., :0].to(device=on, copy=True)
    nothing = ops.zeros((*plain.shape, *array.shape[array.batch_dim + 2 :]), dtype=d, device=on)
    return compressed(pointers, plain, nothing, array.shape, array.layout)
