"""Components side by side, filled up to one size, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mt_core as mt
from mt_core import Tensor
from mt_core.dtypes import scalar_type_name

from ....._compound.layer import elements
from ..layouts import contiguous_layout
from ..strided_tensor import RULES, around, components, joined

__all__ = ["from_padded", "left_aligned", "padded"]


@RULES.rule("to_padded_tensor")
def to_padded_tensor(overload: Any, self: Any, padding: float, output_size: Any = None) -> Any:
    return padded(self, padding, output_size)


def padded(self: Any, padding: Any, output_size: Any = None) -> Tensor:
    """An ordinary tensor of the components, each filled up with `padding` to the greatest sizes, or to a size.

    Raises
    ------
    RuntimeError
        Where it is not contiguous, for sizes that do not fit, and without elements, in PyTorch's words.
    """
    placed = self._array.placed
    if not placed.is_contiguous():
        raise RuntimeError("for now to_padded_tensor only supports contiguous nested tensor")
    if not placed.sizes:
        if output_size is not None:
            raise RuntimeError("NestedTensor with no components cannot be padded to a size")
        return elements(self).view(-1)
    if not placed.rank:
        raise RuntimeError("to_padded_tensor(): nested tensors of numbers have no sizes to be filled up")
    if not any(placed.numels()):
        raise RuntimeError("to_padded_tensor: at least one constituent tensor should have non-zero numel")
    greatest = [max(placed.at(d)) for d in range(placed.rank)]
    count, target = len(placed.sizes), greatest
    if output_size is not None:
        if len(output_size) != self.dim():
            raise RuntimeError("Length of output_size does not match NestedTensor dims. Broadcasting is not supported.")
        count, target = output_size[0], list(output_size[1:])
        if count < len(placed.sizes) or any(n < least for n, least in zip(target, greatest, strict=True)):
            raise RuntimeError(
                "Value in output_size is less than NestedTensor padded size. Truncation is not supported."
            )
    data = elements(self)
    full = mt.full((count * math.prod(target),), padding, dtype=data.dtype, device=data.device)
    places = _places(placed.sizes, [count, *target]).to(data.device)
    return full.index_copy(0, places, data[: sum(placed.numels())]).view(count, *target)


def _places(sizes: Sequence[Sequence[int]], full: Sequence[int]) -> Tensor:
    """Where the elements of components stand in a tensor of `full` sizes that has room for each."""
    numbers = mt.arange(math.prod(full)).view(*full)
    found = [numbers[which][tuple(slice(n) for n in size)].reshape(-1) for which, size in enumerate(sizes)]
    return mt.cat(found)


def from_padded(full: Tensor, sizes: Tensor, fuse_transform_0213: bool = False) -> Any:
    """A nested tensor of the corners of an ordinary one that have the sizes in each row; it is recorded.

    `fuse_transform_0213`: of (components, heads, rows, width), each with its heads side by side in the rows.
    """
    rows: Any = sizes.tolist()
    if fuse_transform_0213:
        full = full.transpose(1, 2).flatten(2)
    elif full.dim() > 4:
        raise RuntimeError("NestedTensor from_padded is not supported for more than 4 dimensions")
    for d in range(1, full.dim()):
        greatest = max((row[d - 1] for row in rows), default=0)
        if greatest > full.shape[d]:
            raise RuntimeError(
                f"The size of tensor a ({greatest}) must match the size of tensor b ({full.shape[d]}) at non-singleton "
                f"dimension {d}"
            )
    picked = _places(rows, list(full.shape)).to(full.device)
    return around(full.reshape(-1).index_select(0, picked), contiguous_layout(rows))


def left_aligned(mask: Tensor) -> bool:
    """Whether every row of a mask begins with all that is selected of it."""
    counts = mask.sum(-1, keepdim=True)
    return bool(mt.equal(mask, mt.arange(mask.shape[-1], device=mask.device) < counts))


def from_mask(full: Tensor, mask: Tensor, mask_check: bool = True) -> Any:
    """A nested tensor of the rows of (components, rows, width) that a mask selects; it is recorded."""
    if mask.dtype is not mt.bool:
        raise RuntimeError(f"Expected mask to be of ScalarType Bool, but got {scalar_type_name(mask.dtype)} instead.")
    if mask.dim() != 2:
        raise RuntimeError("Padding mask should be 2D")
    if full.dim() != 3:
        raise RuntimeError("Input should be a 3D tensor, N * L * D")
    if tuple(mask.shape) != tuple(full.shape[:2]):
        raise RuntimeError("Mask size should match input size")
    if mask_check and not left_aligned(mask):
        raise RuntimeError("Mask must be left-aligned without gaps")
    counts: Any = mask.sum(-1).tolist()
    return joined([row[:n] for row, n in zip(full.unbind(0), counts, strict=True)])


def like_example(full: Tensor, example: Any) -> Any:
    """`from_padded` with the sizes of a nested tensor."""
    return from_padded(full, example._nested_tensor_size())


__all__ += ["components", "from_mask", "like_example"]
