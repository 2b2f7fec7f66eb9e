"""The pieces of a tensor that a rank has: all of it, or its shard of one that is spread over a mesh."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import mt_core as mt
from mt_core.size import Size

from ..tensor._api import DTensor
from ..tensor.placement_types import Replicate, Shard
from ..tensor.spec import local_part
from .metadata import ChunkStorageMetadata

__all__ = ["clashing", "filled", "is_spread", "overlap", "piece_of", "volume", "whole_of"]


def is_spread(value: Any) -> bool:
    """Whether a value is a tensor of which a rank has a part alone."""
    return isinstance(value, DTensor)


def piece_of(tensor: mt.Tensor) -> tuple[ChunkStorageMetadata, mt.Tensor] | None:
    """Which part of a tensor this rank has, and its memory; None where it has no elements of one that is spread.

    Raises
    ------
    NotImplementedError
        For tensors of which parts are to be added up, or that lie in stripes.
    """
    if not isinstance(tensor, DTensor):
        return ChunkStorageMetadata(Size([0] * tensor.dim()), Size(tensor.shape)), tensor.detach()
    for placement in tensor.placements:
        if not isinstance(placement, (Shard, Replicate)):
            raise NotImplementedError(f"checkpoints of tensors placed as {placement} are not supported by mindtorch")
    shape, offsets = local_part(tensor.shape, tensor.device_mesh, tensor.placements)
    if len(offsets) != tensor.dim() or (volume(shape) == 0 and volume(tensor.shape) > 0):
        return None
    return ChunkStorageMetadata(Size(offsets), Size(shape)), tensor._local_tensor.detach()


def volume(sizes: Sequence[int]) -> int:
    """How many elements there are."""
    return math.prod(sizes)


def overlap(one: ChunkStorageMetadata, other: ChunkStorageMetadata) -> tuple[Size, Size, Size] | None:
    """Where two pieces of one tensor meet.

    Returns
    -------
    tuple or None
        Where the common part begins in the one, in the other, and its sizes; None where there is none. Pieces without
        elements meet nothing, but two of no dimension meet in their element.
    """
    starts, ends = [], []
    for begin, size, other_begin, other_size in zip(one.offsets, one.sizes, other.offsets, other.sizes, strict=True):
        start, end = max(begin, other_begin), min(begin + size, other_begin + other_size)
        if end <= start:
            return None
        starts.append(start)
        ends.append(end)
    return (
        Size(start - begin for start, begin in zip(starts, one.offsets, strict=True)),
        Size(start - begin for start, begin in zip(starts, other.offsets, strict=True)),
        Size(end - start for start, end in zip(starts, ends, strict=True)),
    )


def clashing(chunks: Sequence[ChunkStorageMetadata]) -> Iterator[tuple[int, int]]:
    """Which pieces have elements in common."""
    for number, one in enumerate(chunks):
        for other in range(number + 1, len(chunks)):
            if one.sizes and overlap(one, chunks[other]) is not None:
                yield number, other


def whole_of(tensor: Any) -> mt.Tensor:
    """All of a tensor that is spread; a collective."""
    with mt.no_grad():
        whole: mt.Tensor = tensor.detach().full_tensor()
    return whole


def filled(target: Any, whole: mt.Tensor) -> mt.Tensor:
    """A tensor that is spread as another is, of the elements of a whole one that each rank has."""
    made: mt.Tensor = mt.empty_like(target)
    piece = piece_of(made)
    if piece is not None:
        chunk, local = piece
        part = whole.detach()
        for dim, (start, size) in enumerate(zip(chunk.offsets, chunk.sizes, strict=True)):
            part = part.narrow(dim, start, size)
        local.copy_(part)
    return made
