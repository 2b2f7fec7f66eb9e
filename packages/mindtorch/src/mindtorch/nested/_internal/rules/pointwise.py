"""Operators that work element by element, and copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core import Tensor
from mt_core.formats import contiguous_format

from ...._compound.layer import elements
from ..nested_tensor import RULES, NestedTensor, like, matching, nested, rows_of

__all__ = ["pointwise"]


def pointwise(overload: Any) -> Callable[..., Any]:
    """The callable for an elementwise operator: it works on the values."""

    def run(*args: Any) -> Any:
        first = matching(args)
        inside = [_beside(first, arg, overload.name, args) if isinstance(arg, Tensor) else arg for arg in args]
        return like(first, overload.call(*inside))

    return run


def _beside(self: Any, other: Any, name: str, args: Any) -> Any:
    """The values of a nested tensor of the same structure, or an ordinary tensor as it broadcasts to the values.

    Raises
    ------
    RuntimeError, NotImplementedError
        Where the shapes do not fit, in PyTorch's words.
    """
    if isinstance(other, NestedTensor):
        mine, theirs = self._array, other._array
        if mine.ragged != theirs.ragged or mine.shape[mine.ragged] != theirs.shape[theirs.ragged]:
            raise _misfit(name, args)
        return elements(other)
    shape, rank = other.shape, self.dim()
    if other.dim() > rank:
        raise NotImplementedError("NYI: broadcasting NT with T with larger dim")
    if other.dim() < rank and (other.dim() <= rank - 1 - self._array.ragged or all(n == 1 for n in shape)):
        return other
    aligned = (1,) * (rank - other.dim()) + tuple(shape)
    at = self._array.ragged
    if aligned[0] == 1 and aligned[at] == 1:
        return other.reshape(aligned[1:])
    if aligned[0] != self.shape[0] or other.dim() < rank:
        raise _misfit(name, args)
    return _for_each_component(self, other)


def _for_each_component(self: Any, other: Tensor) -> Tensor:
    """What belongs to each row, of a tensor with a part for each component."""
    at, rows = self._array.ragged, rows_of(self)
    if self._array.lengths is not None:
        raise RuntimeError("a tensor with a part for each component cannot be broadcast to nested tensors with holes")
    front = other.movedim(at, 1)
    if front.shape[1] == 1:
        picked = front.squeeze(1).index_select(0, rows.components())
    else:
        if front.shape[1] != rows.longest:
            target = [rows.longest if d == at else n for d, n in enumerate(self.shape)]
            raise RuntimeError(
                f"The expanded size of the tensor ({rows.longest}) must match the existing size ({front.shape[1]}) at "
                f"non-singleton dimension {at}.  Target sizes: {target}.  Tensor sizes: {list(other.shape)}"
            )
        picked = front.flatten(0, 1).index_select(0, rows.places(rows.longest))
    return picked.movedim(0, at - 1)


def _misfit(name: str, args: Any) -> RuntimeError:
    first, *others = [arg for arg in args if isinstance(arg, Tensor)]
    shapes = [
        tuple(one.shape) if all(isinstance(t, NestedTensor) for t in (first, *others)) else one.shape
        for one in (first, *others)
    ]
    return RuntimeError(
        f"cannot call binary pointwise function {name} with inputs of shapes {' and '.join(map(str, shapes))}"
    )


RULES.elementwise = pointwise


@RULES.rule("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(overload: Any, *args: Any) -> Any:
    return pointwise(overload)(*args)


@RULES.rule("dropout")
def dropout(overload: Any, self: Any, p: float, train: bool) -> Any:
    return like(self, overload.call(elements(self), p, train))


@RULES.rule("alias", "detach")
def alias(overload: Any, self: Any) -> Any:
    return self.detach() if overload.name == "detach" else like(self, overload.call(elements(self)))


@RULES.rule("clone")
def clone(overload: Any, self: Any, memory_format: Any) -> Any:
    if self._array.lengths is not None and memory_format is contiguous_format:
        return without_holes(self)
    return like(self, overload.call(elements(self), memory_format))


@RULES.rule("contiguous")
def contiguous(overload: Any, self: Any, memory_format: Any) -> Any:
    if self.is_contiguous(memory_format):
        return self
    return (
        without_holes(self)
        if self._array.lengths is not None
        else like(self, overload.call(elements(self), memory_format))
    )


def without_holes(self: Any) -> Any:
    """The rows that are in use, one behind the other, with offsets of their own."""
    array, rows = self._array, rows_of(self)
    data = elements(self).index_select(array.ragged - 1, rows.used()).contiguous()
    ends = array.lengths.cumsum(0)
    offsets = ends.new_zeros(len(rows.lengths) + 1)
    offsets[1:] = ends
    return nested(data, offsets, None, array.ragged)


@RULES.rule("copy_")
def copy_(overload: Any, self: Any, src: Any, non_blocking: bool) -> Any:
    if not isinstance(self, NestedTensor) or not isinstance(src, NestedTensor):
        raise RuntimeError("copy_: a nested tensor is copied to a nested tensor only")
    same = (
        self.shape == src.shape or len(self.shape) == len(src.shape) and rows_of(self).lengths == rows_of(src).lengths
    )
    if not same or self._array.ragged != src._array.ragged:
        raise RuntimeError("copy_ only supports Nested tensors that have same size and storage")
    if src.requires_grad or self.requires_grad:
        raise NotImplementedError("copy_ of nested tensors is not differentiable here")
    self._array.data.copy_(src._array.data, non_blocking)
    return self


@RULES.rule("fill_.Scalar", "fill_.Tensor", "zero_", "normal_", "uniform_", "bernoulli_.float")
def fill_(overload: Any, self: Any, *args: Any) -> Any:
    if self.requires_grad:
        raise NotImplementedError(f"{overload.name} of nested tensors is not differentiable here")
    overload.call(self._array.data, *args)
    return self


@RULES.rule("_to_copy")
def to_copy(
    overload: Any, self: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, non_blocking: bool, form: Any
) -> Any:
    if layout is not None and layout is not self.layout:
        raise RuntimeError(f"NestedTensor: cannot be converted to the layout {layout}")
    array = self._array
    data = overload.call(elements(self), dtype, None, device, pin_memory, non_blocking, form)
    if device is None or data.device == array.offsets.device:
        return like(self, data)
    lengths = None if array.lengths is None else array.lengths.to(device)
    return nested(data, array.offsets.to(device), lengths, array.ragged)
