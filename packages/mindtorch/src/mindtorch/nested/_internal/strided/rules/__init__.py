"""What operators do to nested tensors of the strided layout, by operator family; importing it enters the rules."""

from . import attention, factories, joining, pointwise, products, reductions, shapes
from .padding import from_padded, left_aligned, padded

__all__ = [
    "attention", "factories", "from_padded", "joining", "left_aligned", "padded", "pointwise", "products",
    "reductions", "shapes",
]  # fmt: skip
