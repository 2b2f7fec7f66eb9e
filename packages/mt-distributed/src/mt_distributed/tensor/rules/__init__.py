"""How operators go through placements: a file for each family, as everywhere."""

from . import creation, elementwise, indexing, loss, matmul, norm, reduction, view

__all__ = ["creation", "elementwise", "indexing", "loss", "matmul", "norm", "reduction", "view"]
