"""Gradients that are written into fresh zeros."""

from __future__ import annotations

from typing import Any

from mt_core.state import tls

__all__ = ["written"]


def written(zeros: Any, method: str, *args: Any) -> Any:
    """Zeros with an in-place method (named without its underscore) called on them.

    Inside of transforms it is called out of place: what lanes of a batch share cannot take what differs between them.
    So it is for tensors that say so of themselves, such as those whose elements have to be elsewhere for it.
    """
    is_out_of_place = tls.transforms or getattr(type(zeros), "_writes_out_of_place", False)
    return getattr(zeros, method if is_out_of_place else method + "_")(*args)
