"""Distances between rows: declarations."""

from __future__ import annotations

from .norm import family

family.plain(
    "_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
    variants="",
    doc="p-norms of the differences of all rows of x1 with all rows of x2: (*, n, d), (*, m, d) -> (*, n, m).",
)
family.composite(
    "cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> Tensor",
    variants="function",
    doc="Distances between all rows of x1 and all rows of x2; batch dimensions broadcast.",
)
