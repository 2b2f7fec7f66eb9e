"""Derivatives of views and other changes of geometry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mt_core.api import _functions as ops
from mt_core.cell import cell_of
from mt_core.dispatch.registry import overload
from mt_core.meta_array import contiguous_strides

from ..rules import derivative, forward_rule, non_differentiable
from ._parts import counted

_slice = overload("slice.Tensor", "view")

Tensor = Any


def within(shape: Sequence[int], grad: Tensor, window: Callable[[Tensor], Tensor]) -> Tensor:
    """Zeros of a shape, with a gradient in one window of them."""
    whole = grad.new_zeros(shape)
    window(whole).copy_(grad)
    cell_of(whole).version = 0  # how it was made does not count as writing to it
    return whole


def inverse_permutation(dims: Sequence[int]) -> list[int]:
    """The permutation that undoes another."""
    plain = [dim % len(dims) for dim in dims]
    return [plain.index(dim) for dim in range(len(plain))]


derivative("_reshape_alias", self=lambda grad, self_spec: grad.reshape(self_spec.shape))
derivative("view", self=lambda grad, self_spec: grad.reshape(self_spec.shape))
derivative("_unsafe_view", self=lambda grad, self_spec: grad.reshape(self_spec.shape))
derivative("alias", self=lambda grad: grad)
non_differentiable("detach", "lift_fresh")
derivative("transpose.int", self=lambda grad, dim0, dim1: grad.transpose(dim0, dim1))
derivative("permute", self=lambda grad, dims: grad.permute(inverse_permutation(dims)))
derivative("t", self=lambda grad: grad.t())
# The engine sums a gradient over the dimensions that were widened.
derivative("expand", self=lambda grad: grad)
derivative("squeeze", self=lambda grad, self_spec: grad.reshape(self_spec.shape))
for _name in ("squeeze.dim", "squeeze.dims"):
    derivative(_name, self=lambda grad, self_spec, dim: grad.reshape(self_spec.shape))
derivative("unsqueeze", self=lambda grad, dim: grad.squeeze(dim))
# In place these have nodes of their own name.
derivative("transpose_.int", node="TransposeBackward1", self=lambda grad, dim0, dim1: grad.transpose(dim0, dim1))
derivative("t_", node="TBackward1", self=lambda grad: grad.t())
derivative("unsqueeze_", node="UnsqueezeBackward1", self=lambda grad, dim: grad.squeeze(dim))
derivative("squeeze_", node="SqueezeBackward3", self=lambda grad, self_spec: grad.reshape(self_spec.shape))
for _name, _node in (("squeeze_.dim", "SqueezeBackward4"), ("squeeze_.dims", "SqueezeBackward5")):
    derivative(_name, node=_node, self=lambda grad, self_spec, dim: grad.reshape(self_spec.shape))
derivative(
    "select.int",
    self=lambda grad, self_spec, dim, index: within(self_spec.shape, grad, lambda whole: whole.select(dim, index)),
)
derivative(
    "slice.Tensor",
    self=lambda grad, self_spec, dim, start, end, step: slice_backward(grad, self_spec, dim, start, end, step),
)
derivative(
    "diagonal",
    self=lambda grad, self_spec, offset, dim1, dim2: within(
        self_spec.shape, grad, lambda whole: whole.diagonal(offset, dim1, dim2)
    ),
)
derivative("unbind.int", self=lambda grads, self_spec, dim: unbind_backward(grads, self_spec, dim))
derivative(
    "split.Tensor", self=lambda grads, self_spec, split_size, dim: split_backward(grads, self_spec, dim, split_size)
)
derivative(
    "split_with_sizes",
    self=lambda grads, self_spec, split_sizes, dim: split_backward(grads, self_spec, dim, split_sizes),
)
for _name, _own in (("as_strided", None), ("as_strided_", "AsStridedBackward1")):
    derivative(
        _name,
        node=_own,
        self=lambda grad, self_spec, self_offset, size, stride, storage_offset: as_strided_backward(
            grad, self_spec, self_offset, size, stride, self_offset if storage_offset is None else storage_offset
        ),
    )
derivative(
    "unfold",
    self=lambda grad, self_spec, dimension, size, step: unfold_backward(grad, self_spec, dimension, size, step),
)
non_differentiable("view.dtype")


def slice_backward(grad: Tensor, self_spec: Any, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    """Gradient of the sliced tensor."""
    return within(self_spec.shape, grad, lambda whole: _slice.call(whole, dim, start, end, step))


def unbind_backward(grads: Sequence[Tensor | None], self_spec: Any, dim: int) -> Tensor:
    """Gradient of the tensor whose slices have these gradients."""
    present = next(g for g in grads if g is not None)
    return ops.stack([present.new_zeros(present.shape) if g is None else g for g in grads], dim)


def split_backward(grads: Sequence[Tensor | None], self_spec: Any, dim: int, sizes: int | Sequence[int]) -> Tensor:
    """Gradient of the tensor whose pieces have these gradients; pieces without one have zeros."""
    present = next(g for g in grads if g is not None)
    shape = list(self_spec.shape)
    dim %= len(shape)
    pieces = []
    for index, grad in enumerate(grads):
        if grad is None:
            if isinstance(sizes, int):
                length = min(sizes, shape[dim] - index * sizes)
            else:
                length = sizes[index]
            grad = present.new_zeros([*shape[:dim], length, *shape[dim + 1 :]])
        pieces.append(grad)
    return ops.cat(pieces, dim)


def overlaps(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether several indices may reach one element."""
    reach = 0
    for stride, size in sorted((abs(stride), size) for size, stride in zip(shape, strides, strict=True) if size != 1):
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the first to the last, inclusive."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def scatter_strided(flat: Tensor, grad: Tensor, shape: Sequence[int], strides: Sequence[int], offset: int) -> Tensor:
    """Add a gradient of the strided window to a flat tensor of zeros."""
    if overlaps(shape, strides):
        indices = ops.arange(flat.numel(), device=flat.device).as_strided(shape, strides, offset)
        return flat.index_add_(0, indices.reshape(-1), grad.reshape(-1))
    flat.as_strided(shape, strides, offset).copy_(grad)
    return flat


def as_strided_backward(
    grad: Tensor, self_spec: Any, self_offset: int, size: Sequence[int], stride: Sequence[int], storage_offset: int
) -> Tensor:
    """Gradient of a tensor of which any strided window of its memory was read.

    It is gathered in the memory's layout and read back in the tensor's own. Where the tensor itself has several indices
    for one element, the element's gradient is shared evenly among them.
    """
    shape, strides = self_spec.shape, self_spec.stride()
    start = min(self_offset, storage_offset)
    length = max(self_offset + extent(shape, strides), storage_offset + extent(size, stride)) - start
    flat = scatter_strided(grad.new_zeros([length]), grad, size, stride, storage_offset - start)
    if overlaps(shape, strides):
        ones = grad.new_ones(shape)
        counts = scatter_strided(grad.new_zeros([length]), ones, shape, strides, self_offset - start)
        flat = flat / counts.clamp(min=1)
    return flat.as_strided(shape, strides, self_offset - start)


def unfold_backward(grad: Tensor, self_spec: Any, dimension: int, size: int, step: int) -> Tensor:
    """Gradient of the tensor whose windows were laid side by side: the sum over the windows that contain an element."""
    dense = self_spec.shape
    strides = contiguous_strides(dense)
    dimension %= max(len(dense), 1)
    windows = [*strides, strides[dimension] if dense else 1]
    if dense:
        windows[dimension] *= step
    total = extent(dense, strides)
    return counted(scatter_strided(grad.new_zeros([total]), grad, grad.shape, windows, 0).view(dense), 0)


forward_rule("linear", "_unsafe_view")
