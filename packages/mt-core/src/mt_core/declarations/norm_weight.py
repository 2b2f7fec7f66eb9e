"""Norms of weights and of differences: declarations."""

from __future__ import annotations

from typing import Any

from ._checks import FLOATS, Supported
from ._declare import Family

family = Family("norm")

_TOP: dict[str, Any] = {"variants": "function"}

family.composite(
    "norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor",
    **_TOP,
    doc="The norm of each entry along a dimension, of size 1 in all others; -1 for one norm.",
)
family.composite(
    "_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor",
    dtypes=Supported("weight_norm_kernel", FLOATS),
    **_TOP,
    doc="v scaled to the norms g (Salimans and Kingma 2016).",
)
family.composite(
    "pdist(Tensor self, float p=2) -> Tensor",
    **_TOP,
    doc="Distances of all pairs of rows: (n, d) -> (n (n - 1) / 2,), row 0 with the others first.",
)
