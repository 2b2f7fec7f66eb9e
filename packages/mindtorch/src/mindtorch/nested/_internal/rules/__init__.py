"""What operators do to nested tensors, by operator family; importing it enters the rules."""

from . import factories, pointwise, products, reductions, views
from .padding import padded

__all__ = ["factories", "padded", "pointwise", "products", "reductions", "views"]
