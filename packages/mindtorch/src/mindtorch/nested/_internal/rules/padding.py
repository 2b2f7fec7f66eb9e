"""Components side by side, filled up to one length, and back."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core import Tensor

from ...._compound.layer import elements
from ..nested_tensor import RULES, like, rows_of

__all__ = ["padded", "rows_of_padded", "with_rows_in_front"]


def with_rows_in_front(self: Any) -> Tensor:
    """The rows that are in use, along the first dimension."""
    data = elements(self).movedim(self._array.ragged - 1, 0)
    return data if self._array.lengths is None else data.index_select(0, rows_of(self).used())


def padded(self: Any, padding: Any, output_size: Any = None) -> Tensor:
    """An ordinary tensor of the components, each filled up with `padding` to the longest, or to a size.

    Raises
    ------
    RuntimeError
        For nested tensors with holes, in PyTorch's words, and for sizes that do not fit.
    """
    array, rows = self._array, rows_of(self)
    if array.lengths is not None:
        raise RuntimeError("to_padded_tensor(): not supported for nested tensors with holes")
    front = with_rows_in_front(self)
    width = rows.longest
    if output_size is not None:
        if len(output_size) != self.dim():
            raise RuntimeError(f"to_padded_tensor(): output_size has {len(output_size)} sizes, not {self.dim()}")
        width = output_size[array.ragged]
    if width < rows.longest:
        rows.lengths, kept = [min(n, width) for n in rows.lengths], rows
        front = front.index_select(0, kept.used())
    inner = front.shape[1:]
    flat = mt.full((len(rows.lengths) * width, *inner), padding, dtype=front.dtype, device=front.device)
    flat = flat.index_copy(0, rows.places(width), front)
    return flat.unflatten(0, (len(rows.lengths), width)).movedim(1, array.ragged)


def rows_of_padded(self: Any, full: Tensor, ragged: int | None = None) -> Any:
    """A nested tensor of the structure of `self` from components side by side, of which the rest is left out."""
    ragged = self._array.ragged if ragged is None else ragged
    rows = rows_of(self)
    front = full.movedim(ragged, 1)
    picked = front.flatten(0, 1).index_select(0, rows.places(front.shape[1]))
    return like(self, picked.movedim(0, ragged - 1), ragged)


@RULES.rule("to_padded_tensor")
def to_padded_tensor(overload: Any, self: Any, padding: float, output_size: Any = None) -> Any:
    return padded(self, padding, output_size)
