"""Modules that are to be the same on all processes: shapes are compared, and one process's values given to all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mt_core as mt

from .. import distributed_c10d as dist
from .buckets import bucket_assignment

__all__ = ["broadcast_coalesced", "verify_parameters"]

#: Bytes that are broadcast at once, where nobody says otherwise.
BROADCAST_BYTES = 250 * 1024 * 1024


def verify_parameters(group: Any, parameters: Sequence[mt.Tensor]) -> None:
    """Compare the number, sizes and strides of parameters with those of rank 0.

    Raises
    ------
    RuntimeError
        On each process whose parameters differ from the others' in number, or from rank 0's in sizes or strides.
    """
    rank = group.rank()
    own = mt.tensor([len(parameters)], dtype=mt.int64)
    counts = [mt.zeros(1, dtype=mt.int64) for _ in range(group.size())]
    dist.all_gather(counts, own, group=group)
    for other, count in enumerate(counts):
        if count.item() != len(parameters):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank {rank} has {len(parameters)} params, while rank "
                f"{other} has inconsistent {int(count.item())} params."
            )
    shapes = [(*parameter.shape, *parameter.stride()) for parameter in parameters]
    expected = mt.tensor([len(shape) for shape in shapes], dtype=mt.int64)
    dist.broadcast(expected, group=group, group_src=0)
    sizes = [number for shape in shapes for number in shape]
    lengths = expected.tolist()
    described = mt.zeros(sum(lengths), dtype=mt.int64)
    if rank == 0:
        described.copy_(mt.tensor(sizes, dtype=mt.int64))
    dist.broadcast(described, group=group, group_src=0)
    given, start = described.tolist(), 0
    for index, (parameter, length) in enumerate(zip(parameters, lengths, strict=True)):
        theirs = given[start : start + length]
        start += length
        _compare(rank, index, "sizes", list(parameter.shape), theirs[: length // 2])
        _compare(rank, index, "strides", list(parameter.stride()), theirs[length // 2 :])


def _compare(rank: int, index: int, what: str, own: list[int], theirs: list[int]) -> None:
    if own != theirs:
        raise RuntimeError(
            f"[{rank}]: params[{index}] in this process with {what} {own} appears not to match {what} of the same "
            "param in process 0."
        )


def broadcast_coalesced(
    group: Any, tensors: Sequence[mt.Tensor], buffer_size: int = BROADCAST_BYTES, src: int = 0
) -> None:
    """Give all processes of a group what one of them has in some tensors, several of them in each broadcast.

    Parameters
    ----------
    group
        The process group.
    tensors
        They are written to.
    buffer_size
        Bytes in one broadcast, about.
    src
        Whose values these are: a rank of the group.
    """
    groups, _ = bucket_assignment(tensors, [buffer_size])
    started = []
    with mt.no_grad():
        for members in groups:
            flat = mt.cat([tensors[index].detach().reshape(-1) for index in members])
            started.append((members, flat, dist.broadcast(flat, group=group, group_src=src, async_op=True)))
        for members, flat, work in started:
            work.wait()
            start = 0
            for index in members:
                tensor = tensors[index]
                tensor.detach().copy_(flat[start : start + tensor.numel()].reshape(tensor.shape))
                start += tensor.numel()
