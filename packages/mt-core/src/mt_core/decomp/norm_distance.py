"""Distances between rows."""

from __future__ import annotations

from typing import Any

from ..dispatch.registry import find_overload
from ..dispatch.registry import register_composite as composite


@composite("cdist")
def cdist(x1: Any, x2: Any, p: float, compute_mode: int | None) -> Any:
    """x1 (*, P, M), x2 (*, R, M), batches broadcast -> (*, P, R)."""
    return find_overload("_cdist_forward").call(x1, x2, p, compute_mode)
