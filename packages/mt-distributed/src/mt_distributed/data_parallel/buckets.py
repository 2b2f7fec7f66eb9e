"""Which gradients are reduced together, and the flat memory that they are copied to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mt_core as mt

__all__ = ["Bucket", "bucket_assignment"]


def bucket_assignment(
    tensors: Sequence[mt.Tensor], limits: Sequence[int], indices: Sequence[int] = ()
) -> tuple[list[list[int]], list[int]]:
    """Share tensors among buckets, in the order given, one dtype and device in each.

    A bucket is full when it holds as many bytes as its limit, or more. For each dtype and device the first bucket has
    the first limit, and so on; the last limit is that of all that follow.

    Parameters
    ----------
    tensors
        The tensors.
    limits
        Bytes.
    indices
        What the tensors are called in the result; else their positions, and buckets are sorted by the first of these.

    Returns
    -------
    tuple
        The indices in each bucket, and the limit of each.
    """
    if not limits:
        raise ValueError("a bucket needs a limit of bytes")
    filling: dict[Any, tuple[list[int], int, int]] = {}
    result: list[tuple[list[int], int]] = []
    for position, tensor in enumerate(tensors):
        key = tensor.dtype, tensor.device
        members, size, number = filling.get(key, ([], 0, 0))
        members.append(indices[position] if indices else position)
        size += tensor.numel() * tensor.element_size()
        if size >= limits[number]:
            result.append((members, limits[number]))
            members, size, number = [], 0, min(number + 1, len(limits) - 1)
        filling[key] = members, size, number
    result += [(members, limits[number]) for members, _, number in filling.values() if members]
    if not indices:
        result.sort(key=lambda bucket: min(bucket[0]))
    return [members for members, _ in result], [limit for _, limit in result]


def _laid_out_as(flat: mt.Tensor, offset: int, like: mt.Tensor) -> mt.Tensor:
    """A part of flat memory with the shape of a tensor, and its strides where these leave no gaps."""
    strides = like.stride() if _is_dense(like) else _row_major(like.shape)
    return flat.as_strided(tuple(like.shape), strides, offset)


def _is_dense(tensor: mt.Tensor) -> bool:
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


def _row_major(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(max(size, 1) for size in shape[i + 1 :]) for i in range(len(shape)))


class Bucket:
    """Parameters whose gradients are reduced together.

    Parameters
    ----------
    indices
        Which parameters, by their number among all.
    parameters
        These parameters.
    """

    def __init__(self, indices: Sequence[int], parameters: Sequence[mt.Tensor]) -> None:
        first = parameters[0]
        self.indices = list(indices)
        self.parameters = list(parameters)
        self.buffer = mt.zeros(sum(p.numel() for p in parameters), dtype=first.dtype, device=first.device)
        self.views = self.views_of(self.buffer)
        self.pending = len(self.indices)
        #: What `all_reduce` or a hook gave: has `wait`.
        self.reduction: Any = None

    def views_of(self, flat: mt.Tensor) -> list[mt.Tensor]:
        views, offset = [], 0
        for parameter in self.parameters:
            views.append(_laid_out_as(flat, offset, parameter))
            offset += parameter.numel()
        return views

    def begin(self) -> None:
        """Wait for all gradients again."""
        self.pending = len(self.indices)
        self.reduction = None
