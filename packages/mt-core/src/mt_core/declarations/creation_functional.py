"""What operators that write compute, as operators of their own: ``torch.ops`` and `functionalize` reach them."""

from __future__ import annotations

from .creation import family

family.composite(
    "copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
    variants="",
    doc="The elements of `src`, broadcast, in the shape, dtype and layout of self.",
)
family.composite("zero(Tensor self) -> Tensor", variants="", doc="Zeros in the layout of self.")
family.composite(
    "resize(Tensor self, int[] size, *, MemoryFormat? memory_format=None) -> Tensor",
    variants="",
    doc="A copy of self in another shape, row-major; elements that self has not mean nothing.",
)
