"""Tensors with a hidden dimension: what a function under ``vmap`` sees in place of its batched arguments."""

from __future__ import annotations

import textwrap
from typing import Any, NamedTuple

from ..cell import cell_of
from ..hollow import ShadowArray, shadow
from ..keys import OF_TRANSFORM, STRIDED
from ..spec import is_contiguous
from ..tensor import Tensor
from .interpreters import Interpreter, depth_of
from .wrapped import WrappedArray, alive

__all__ = ["DEPENDENT", "BatchedArray", "Lanes", "batched", "hidden_from", "lanes_of", "note_written"]

#: What is said where a program asks for what differs between lanes, or what the memory of all is like.
DEPENDENT = {
    "data": "accessing `data` under vmap transform is not allowed",
    "set_data": "mutating directly with `.data` under vmap transform is not allowed.",
    "memory_format": (
        "NYI: querying is_contiguous inside of vmap for memory_format other than torch.contiguous_format"
    ),
    "item": (
        "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a "
        "Tensor, please try to rewrite what you're doing with other operations. If error is occurring somewhere "
        "inside PyTorch internals, please file a bug report."
    ),
    "bool": (
        "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support "
        "that yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
    ),
}


class BatchedArray(ShadowArray):
    """What such a tensor has in place of memory: the tensor with all dimensions, which one is hidden, and for whom."""

    __slots__ = ("dim", "level")

    dim: int
    level: Interpreter

    def elements_for(self, use: str) -> Tensor:
        if use in DEPENDENT:
            raise RuntimeError(DEPENDENT[use])
        return super().elements_for(use)

    def text(self) -> str:
        value = textwrap.indent(repr(self.value), "    ")
        return f"BatchedTensor(lvl={depth_of(self.level)}, bdim={self.dim}, value=\n{value}\n)"


class Lanes(NamedTuple):
    """A tensor argument as batching rules get it.

    Attributes
    ----------
    value : Tensor
        With the batch dimension, where it has one.
    dim : int or None
        Which dimension that is; None for a tensor that all lanes share.
    """

    value: Any
    dim: int | None

    @property
    def rank(self) -> int:
        """Number of dimensions that the function sees."""
        rank: int = self.value._array.ndim
        return rank if self.dim is None else rank - 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions that the function sees."""
        shape = tuple(self.value._array.shape)
        return shape if self.dim is None else shape[: self.dim] + shape[self.dim + 1 :]

    def front(self) -> Any:
        """A view with the batch dimension in front; of a shared tensor, the tensor itself."""
        if not self.dim:
            return self.value
        return self.value.transpose(0, 1) if self.dim == 1 else self.value.movedim(self.dim, 0)

    def at_rank(self, rank: int) -> Any:
        """`front`, with dimensions of size 1 behind the batch dimension until the function sees `rank` of them."""
        value = self.front()
        if self.dim is None:
            return value
        for _ in range(rank - self.rank):
            value = value.unsqueeze(1)
        return value

    def spread(self, size: int) -> Any:
        """`front`; a shared tensor is repeated for every lane, as a view."""
        return self.value.unsqueeze(0).expand(size, *self.shape) if self.dim is None else self.front()


def batched(value: Tensor, dim: int, level: Interpreter) -> Tensor:
    """A tensor whose dimension `dim` the function under ``vmap`` does not see."""
    array = value._array
    shape, strides = array.shape, array.strides
    if 0 in shape:
        strides = tuple([step * array.itemsize for step in value.stride()])
    shape, strides = shape[:dim] + shape[dim + 1 :], strides[:dim] + strides[dim + 1 :]
    made: Tensor = shadow(BatchedArray, value, shape, strides, OF_TRANSFORM)
    lanes: Any = made._array
    lanes.dim, lanes.level = dim, level
    if (dim or value._keys & STRIDED) and not is_contiguous(shape, tuple([step // array.itemsize for step in strides])):
        made._keys |= STRIDED
    return made


def lanes_of(tensor: Any, level: Interpreter) -> Lanes:
    """What a tensor is to a level of ``vmap``."""
    array = tensor._array
    if array.__class__ is WrappedArray:
        tensor = alive(tensor)
        array = tensor._array
    if array.__class__ is BatchedArray and array.level is level:
        return Lanes(array.value, array.dim)
    return Lanes(tensor, None)


def note_written(tensor: Tensor, value: Tensor, dim: int) -> None:
    """Let a batched tensor stand for `value` from now on, and count that it was written to."""
    fresh = batched(value, dim, tensor._array.level)
    tensor._array, tensor._dtype, tensor._keys = fresh._array, fresh._dtype, fresh._keys
    cell_of(tensor).version += 1


def hidden_from(tensor: Tensor) -> set[int]:
    """Identities of the levels of ``vmap`` that hide a dimension of a tensor, whatever wraps it."""
    levels = set()
    array = tensor._array
    while isinstance(array, (BatchedArray, WrappedArray)):
        if array.__class__ is BatchedArray:
            levels.add(id(array.level))
        array = array.value._array
    return levels
