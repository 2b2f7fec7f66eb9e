"""How operators go through placements: a file for each family, as everywhere."""

from . import convolution, creation, elementwise, indexing, linalg, loss, matmul, norm, pooling, reduction, view

__all__ = [
    "convolution",
    "creation",
    "elementwise",
    "indexing",
    "linalg",
    "loss",
    "matmul",
    "norm",
    "pooling",
    "reduction",
    "view",
]
