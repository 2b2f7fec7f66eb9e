"""Whether masks, and whether tensors, are the same."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core import Tensor

__all__ = ["_masks_match", "_tensors_match", "refuse_other_layout", "same_masks"]


def refuse_other_layout(a: Any, b: Any) -> None:
    """Refuse two of several layouts.

    Raises
    ------
    ValueError
        In PyTorch's words.
    """
    if a.layout is not b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")


def same_masks(a: Any, b: Any) -> bool:
    """Whether the parts of two masked tensors of one layout have one mask."""
    mine, theirs = a.parts()[1], b.parts()[1]
    return mine is theirs or _tensors_match(mine, theirs)


def _tensors_match(a: Any, b: Any, exact: bool = True, rtol: float = 1e-05, atol: float = 1e-08) -> bool:
    """Whether two tensors have one dtype, size and the same elements, or nearly; False where anything differs.

    Raises
    ------
    ValueError
        For two layouts.
    """
    refuse_other_layout(a, b)
    if a.dtype != b.dtype or a.size() != b.size():
        return False
    if a.layout is mt.sparse_coo:
        a, b = a.coalesce(), b.coalesce()
        return _tensors_match(a.indices(), b.indices()) and _tensors_match(a.values(), b.values(), exact, rtol, atol)
    if a.layout is mt.sparse_csr:
        where = ((a.crow_indices(), b.crow_indices()), (a.col_indices(), b.col_indices()))
        return all(_tensors_match(*pair) for pair in where) and _tensors_match(
            a.values(), b.values(), exact, rtol, atol
        )
    return bool(mt.equal(a, b) if exact else mt.allclose(a, b, rtol, atol, equal_nan=True))


def _masks_match(a: Tensor, b: Tensor) -> bool:
    """Whether two masked tensors have one mask; true where one is an ordinary tensor.

    Raises
    ------
    ValueError
        For two layouts.
    """
    mine: Any = getattr(a, "_array", None)
    theirs: Any = getattr(b, "_array", None)
    if not hasattr(mine, "mask") or not hasattr(theirs, "mask"):
        return True
    return _tensors_match(mine.parts()[1], theirs.parts()[1])
