"""What XLA does for each operator, in rooms by family.

An operator that is not here runs by the operators that it is written in (`mt_core.decomp`); one that is neither is
refused by name.
"""

from __future__ import annotations

from . import (  # noqa: F401 - they enter what they have
    arithmetic,
    comparisons,
    convolution,
    creation,
    elementwise,
    fourier,
    indexing,
    linalg,
    losses,
    norms,
    pooling,
    products,
    reductions,
    scans,
    sorting,
    special,
    views,
)
from .table import LOWERINGS

__all__ = ["LOWERINGS"]
