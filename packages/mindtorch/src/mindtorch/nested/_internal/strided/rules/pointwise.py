"""Operators that work element by element, and copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core import Tensor
from mt_core.dispatch.registry import find_overload
from mt_core.formats import contiguous_format, preserve_format

from ....._compound.layer import elements
from ..layouts import Layout
from ..strided_tensor import RULES, StridedNestedTensor, around, buffer, components, joined, like, placed_as

__all__ = ["alone", "relaid"]


def alone(function: Callable[..., Tensor], *given: Any) -> Any:
    """What a function makes of nested tensors of one layout, and of what else it takes, in that layout.

    Elements of a buffer that belong to no component stay out of it: nothing of theirs reaches a gradient.
    """
    first = next(one for one in given if isinstance(one, StridedNestedTensor))
    nested = [isinstance(one, StridedNestedTensor) for one in given]
    whole = all(one._array.covered for one in given if isinstance(one, StridedNestedTensor))
    if whole or not first._array.placed.sizes:
        return like(first, function(*[elements(one) if own else one for one, own in zip(given, nested, strict=True)]))
    columns = [components(one) if own else [one] * first.size(0) for one, own in zip(given, nested, strict=True)]
    return like(first, placed_as([function(*row) for row in zip(*columns, strict=True)], first._array))


@RULES.rule(
    "abs", "cos", "gelu", "isinf", "isnan", "isneginf", "isposinf", "logical_not", "neg", "relu", "sgn", "silu", "sin",
    "sqrt", "tanh",
)  # fmt: skip
def unary(overload: Any, self: Any, *args: Any) -> Any:
    return like(self, overload.call(buffer(self), *args))


@RULES.rule("mul.Scalar", "div.Scalar")
def with_number(overload: Any, self: Any, *args: Any) -> Any:
    return alone(lambda part: overload.call(part, *args), self)


@RULES.rule("ge.Tensor", "gt.Tensor")
def compared(overload: Any, self: Any, other: Any) -> Any:
    """With numbers alone."""
    if isinstance(other, Tensor):
        raise RULES.refused(overload.name)
    return with_number(overload, self, other)


@RULES.rule("eq.Tensor")
def eq(overload: Any, self: Any, other: Any) -> Any:
    if isinstance(other, StridedNestedTensor):
        raise RuntimeError("eq does not support nested tensor as other value.")
    return _of_two(overload, self, other)


@RULES.rule("add.Tensor", "sub.Tensor")
def with_strides(overload: Any, self: Any, other: Any, *args: Any) -> Any:
    return _of_two(overload, self, other, *args, strides=True)


@RULES.rule("mul.Tensor", "div.Tensor", "masked_fill.Scalar")
def of_two(overload: Any, self: Any, other: Any, *args: Any) -> Any:
    return _of_two(overload, self, other, *args)


def _of_two(overload: Any, self: Any, other: Any, *args: Any, strides: bool = False) -> Any:
    """Of two nested tensors of the same sizes, or one and a number; `strides`: they may lie in different ways.

    Raises
    ------
    RuntimeError
        For other sizes and places, and ordinary tensors, in PyTorch's words.
    """
    name = overload.name.partition(".")[0]
    nested = [isinstance(one, StridedNestedTensor) for one in (self, other)]
    if all(nested):
        mine, theirs = self._array.placed, other._array.placed
        if mine.sizes != theirs.sizes:
            raise RuntimeError(f"{name} does not support broadcasting when given a NestedTensor")
        if mine == theirs:
            return alone(lambda a, b: overload.call(a, b, *args), self, other)
        if not strides:
            if mine.strides != theirs.strides:
                raise RuntimeError(f"{name} requires strides to match when given NestedTensors")
            if mine.starts != theirs.starts:
                raise RuntimeError(f"{name} requires offsets to match when given NestedTensors")
        return joined([overload.call(*pair, *args) for pair in zip(components(self), components(other), strict=True)])
    for one, is_nested in ((other, nested[1]), (self, nested[0])):
        if not is_nested and isinstance(one, Tensor) and one.dim():
            which = ("nested self and non-nested", "non-nested self and nested")[one is self]
            raise RuntimeError(f"Expected both self and other to be nested, but got a {which} other")
    return alone(lambda a, b: overload.call(a, b, *args), self, other)


@RULES.rule("where.self")
def where(overload: Any, condition: Any, self: Any, other: Any) -> Any:
    """A number where a nested condition holds, and a nested tensor elsewhere; nothing else is in PyTorch."""
    if not isinstance(condition, StridedNestedTensor):
        raise RuntimeError("condition must be nested")
    if isinstance(self, StridedNestedTensor):
        raise RuntimeError("self must not be nested")
    if not isinstance(other, StridedNestedTensor):
        raise RuntimeError("other must be nested")
    if isinstance(self, Tensor) and self.dim():
        raise RuntimeError("where(): self must be a number beside nested tensors")
    if condition._array.placed != other._array.placed:
        raise RuntimeError("condition and other must be of the same sizes and strides")
    return like(other, overload.call(buffer(condition), self, buffer(other)))


@RULES.rule("native_dropout")
def native_dropout(overload: Any, self: Any, p: float, train: bool | None) -> Any:
    return tuple(like(self, one) for one in overload.call(elements(self), p, train))


@RULES.rule("dropout")
def dropout(overload: Any, self: Any, p: float, train: bool) -> Any:
    if not train or not p:
        return like(self, elements(self).view(-1)) if self._array.placed.sizes else self
    return native_dropout(find_overload("native_dropout"), self, p, train)[0]


@RULES.rule("alias", "detach")
def alias(overload: Any, self: Any) -> Any:
    return self.detach() if overload.name == "detach" else like(self, overload.call(elements(self)))


_FORMATS = {"torch.channels_last": "ChannelsLast", "torch.channels_last_3d": "ChannelsLast3d"}


@RULES.rule("clone")
def clone(overload: Any, self: Any, memory_format: Any) -> Any:
    if memory_format not in (None, preserve_format, contiguous_format):
        raise RuntimeError(
            "Nested tensor clone supports Preserve and Contiguous memory formats, called clone with memory format: "
            f"{_FORMATS[str(memory_format)]}"
        )
    if memory_format is contiguous_format and not self._array.placed.is_contiguous():
        return joined(components(self))
    return like(self, overload.call(elements(self), None))


@RULES.rule("contiguous")
def contiguous(overload: Any, self: Any, memory_format: Any) -> Any:
    return self if self.is_contiguous(memory_format) else joined(components(self))


@RULES.rule("copy_")
def copy_(overload: Any, self: Any, src: Any, non_blocking: bool) -> Any:
    if not isinstance(self, StridedNestedTensor) or not isinstance(src, StridedNestedTensor):
        raise RuntimeError("get_nested_tensor_impl requires a NestedTensor.")
    if self._array.placed.sizes != src._array.placed.sizes:
        raise RuntimeError("copy_ only supports tensors that are the same size for Nested implementations")
    if src.requires_grad or self.requires_grad:
        raise NotImplementedError("copy_ of nested tensors is not differentiable here")
    for target, source in zip(components(self), components(src), strict=True):
        overload.call(target, source, non_blocking)
    return self


@RULES.rule("fill_.Scalar", "fill_.Tensor", "zero_", "normal_")
def written(overload: Any, self: Any, *args: Any) -> Any:
    """Writes of what does not depend on what is written to."""
    if overload.name == "fill_.Tensor" and args[0].dim():
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {args[0].dim()} dimensions."
        )
    if self.requires_grad:
        raise NotImplementedError(f"{overload.name} of nested tensors is not differentiable here")
    if self._array.covered:
        overload.call(self._array.data, *args)
    elif overload.name == "normal_":
        raise RuntimeError("NestedTensor must be contiguous to get buffer.")
    else:
        for part in components(self):
            overload.call(part, *args)
    return self


@RULES.rule("_to_copy")
def to_copy(
    overload: Any, self: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, non_blocking: bool, form: Any
) -> Any:
    if layout is not None and layout is not self.layout:
        raise RuntimeError(f"nested tensors of the strided layout cannot be converted to the layout {layout}")
    whole = joined(components(self)) if form is contiguous_format and not self.is_contiguous() else self
    return like(whole, overload.call(elements(whole), dtype, None, device, pin_memory, non_blocking, None))


def relaid(self: Any, placed: Layout) -> Any:
    """A view of other sizes, strides and beginnings in the same buffer; it is recorded."""
    return around(elements(self).view(-1), placed)
