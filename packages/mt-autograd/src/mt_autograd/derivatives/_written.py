"""Gradients that are written into fresh zeros."""

from __future__ import annotations

from typing import Any

from mt_core.state import tls

__all__ = ["written"]


def written(zeros: Any, method: str, *args: Any) -> Any:
    """Zeros with an in-place method (named without its underscore) called on them.

    Inside of transforms it is called out of place: what lanes of a batch share cannot take what differs between them.
    """
    return getattr(zeros, method if tls.transforms else method + "_")(*args)
