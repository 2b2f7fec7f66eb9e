"""How nested tensors of the strided layout are made; the functions with underscores are PyTorch's, of ``torch``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mt_core as mt
from mt_core import Tensor

from .layouts import Layout, contiguous_layout
from .rules.padding import from_mask, from_padded, left_aligned
from .strided_tensor import StridedNestedTensor, around, joined

__all__: list[str] = []


def from_tensor_list(tensors: Sequence[Tensor], dtype: Any = None, device: Any = None) -> Any:
    """A contiguous nested tensor of tensors with one number of dimensions, in the dtype of the first; it is recorded.

    Raises
    ------
    RuntimeError
        For other numbers of dimensions, in PyTorch's words.
    """
    for at in range(1, len(tensors)):
        before, here = tensors[at - 1].dim(), tensors[at].dim()
        if before != here:
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. Found dimension "
                f"{here} for Tensor at index {at} and dimension {before} for Tensor at index {at - 1}."
            )
    if not tensors:
        return around(mt.empty(0, dtype=dtype, device=device), contiguous_layout([]))
    dtype = tensors[0].dtype if dtype is None else dtype
    device = tensors[0].device if device is None else device
    return joined([tensor.to(dtype=dtype, device=device) for tensor in tensors])


def of_rows(tensor: Tensor) -> Any:
    """A nested tensor whose components are those of an ordinary one, with their memory where it is one piece."""
    return around(tensor.contiguous().view(-1), contiguous_layout([tensor.shape[1:]] * tensor.shape[0]))


def _nested_tensor_from_tensor_list(
    list: Sequence[Tensor], dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool | None = None
) -> Any:
    """A nested tensor of tensors, with their history."""
    if layout not in (None, mt.strided):
        raise RuntimeError(f"_nested_tensor_from_tensor_list: the layout {layout} is not supported")
    if pin_memory:
        raise NotImplementedError("_nested_tensor_from_tensor_list: pin_memory= is not supported by mindtorch")
    return from_tensor_list(list, dtype, device)


def _nested_from_padded(padded: Tensor, cpu_nested_shape_example: Tensor, fuse_transform_0213: bool = False) -> Any:
    """A nested tensor of the corners of `padded` that have the sizes in the rows of a table."""
    return from_padded(padded, cpu_nested_shape_example, fuse_transform_0213)


def _nested_from_padded_and_nested_example(padded: Tensor, nt_example: Any) -> Any:
    """A nested tensor of the corners of `padded` that have the sizes of a nested tensor's components."""
    if not isinstance(nt_example, StridedNestedTensor):
        raise TypeError("_nested_from_padded_and_nested_example: expected a nested tensor of the strided layout")
    return from_padded(padded, nt_example._nested_tensor_size())


def _nested_tensor_from_mask(t: Tensor, mask: Tensor, mask_check: bool = True) -> Any:
    """A nested tensor of the rows of ``t`` (components, rows, width) with which `mask` (components, rows) begins."""
    return from_mask(t, mask, mask_check)


def _nested_tensor_from_mask_left_aligned(t: Tensor, mask: Tensor) -> bool:
    """Whether each row of `mask` begins with all that is selected of it."""
    return left_aligned(mask)


def _nested_view_from_buffer(self: Tensor, nested_size: Tensor, nested_strides: Tensor, offsets: Tensor) -> Any:
    """A nested tensor on a vector, whose components have given sizes, strides and beginnings.

    Raises
    ------
    RuntimeError
        For what is no vector, and where a component reaches beyond it.
    """
    if self.dim() != 1:
        raise RuntimeError(f"given buffer must be one dimensional, but has {self.dim()} dimensions")
    sizes, strides, starts = (one.tolist() for one in (nested_size, nested_strides, offsets))
    placed = Layout(tuple(map(tuple, sizes)), tuple(map(tuple, strides)), tuple(starts))
    for size, steps, start in zip(*placed.told, strict=True):
        last = start + sum((n - 1) * step for n, step in zip(size, steps, strict=True))
        if min(start, *steps, *size, 0) < 0 or all(size) and last >= self.numel():
            raise RuntimeError(
                f"a component of the sizes {list(size)} and strides {list(steps)} at {start} reaches beyond the buffer "
                f"of {self.numel()} elements"
            )
    return around(self, placed)
