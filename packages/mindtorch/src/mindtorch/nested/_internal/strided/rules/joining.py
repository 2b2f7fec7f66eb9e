"""Joining."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core.tensor import wrap_dim

from ....._compound.layer import elements
from ..layouts import contiguous_layout
from ..strided_tensor import RULES, StridedNestedTensor, around, components, joined


@RULES.rule("cat")
def cat(overload: Any, tensors: Any, dim: int) -> Any:
    if not all(isinstance(one, StridedNestedTensor) for one in tensors):
        if not dim:
            raise RuntimeError("Expected each tensor in given list to be nested.")
        raise RuntimeError("cat(): expected each tensor in given list to be nested")
    if not all(one.is_contiguous() for one in tensors):
        raise RuntimeError("cat(): only contiguous nested tensors are supported")
    first = tensors[0]
    at = wrap_dim(dim, first.dim())
    if not at:
        for number, one in enumerate(tensors):
            if one.dim() != first.dim():
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension 0. Expected size {first.dim() - 1} but got size "
                    f"{one.dim() - 1} for tensor number {number} in the list."
                )
        sizes = [size for one in tensors for size in one._array.placed.sizes]
        parts = [part.reshape(-1) for one in tensors for part in components(one)]
        return around(mt.cat(parts) if parts else elements(first).clone(), contiguous_layout(sizes))
    placed = [one._array.placed for one in tensors]
    rank = first.dim() - 1
    for one in placed:
        matches = one.rank == rank and len(one.sizes) == len(placed[0].sizes) and all(
            one.at(d) == placed[0].at(d) for d in range(rank) if d != at - 1
        )  # fmt: skip
        if not matches:
            raise RuntimeError(
                "cat(): expected all nested tensors to have matching ragged structures outside of the concatenated dim"
            )
    irregular = [d for one in placed for d in range(rank) if one.regular(d) is None]
    if at == 1 or any(irregular):
        raise RuntimeError("cat(): only nested tensors with a single ragged dim next to the batch dim are supported")
    return joined([overload.call(list(parts), at - 1) for parts in zip(*map(components, tensors), strict=True)])
