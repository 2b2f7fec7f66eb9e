"""Python objects between ranks, by pickles in tensors of bytes."""

import pickle
from typing import Any

import numpy as np

from mt_core import Tensor
from mt_core.interop import from_numpy

from .functions import all_gather, broadcast, gather, rank_in, scatter
from .point_to_point import irecv, isend
from .process_group import ProcessGroup
from .tensors import array_of
from .world import _rank_not_in_group, chosen, get_global_rank

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
]


def _packed(given: Any) -> Tensor:
    return from_numpy(np.frombuffer(pickle.dumps(given), np.uint8).copy())


def _opened(tensor: Tensor, length: int) -> Any:
    return pickle.loads(array_of(tensor)[:length].tobytes())


def _bytes(count: int) -> Tensor:
    return from_numpy(np.zeros(count, np.uint8))


def _number(value: int) -> Tensor:
    return from_numpy(np.array([value], np.int64))


def _lengths(length: int, group: ProcessGroup) -> list[int]:
    """Every rank's length."""
    every = [_number(0) for _ in range(group.size())]
    all_gather(every, _number(length), group)
    return [int(one) for one in every]


def _padded(packed: Tensor, longest: int) -> Tensor:
    padded = np.zeros(longest, np.uint8)
    array = array_of(packed)
    padded[: array.size] = array
    return from_numpy(padded)


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """Every rank's object, into a list with a place for each."""
    if _rank_not_in_group(group):
        return
    pg = chosen(group)
    packed = _packed(obj)
    lengths = _lengths(packed.numel(), pg)
    every = [_bytes(max(lengths)) for _ in lengths]
    all_gather(every, _padded(packed, max(lengths)), pg)
    for at, (tensor, length) in enumerate(zip(every, lengths)):
        object_list[at] = _opened(tensor, length)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    group_dst: int | None = None,
) -> None:
    """Every rank's object, into a list on rank `dst` (of the world; 0 where none is named)."""
    if _rank_not_in_group(group):
        return
    pg = chosen(group)
    root = rank_in(pg, dst, group_dst, default=0)
    if pg.rank() == root and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if pg.rank() != root and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    packed = _packed(obj)
    lengths = _lengths(packed.numel(), pg)
    every = [_bytes(max(lengths)) for _ in lengths] if pg.rank() == root else None
    gather(_padded(packed, max(lengths)), every, group=pg, group_dst=root)
    if object_gather_list is not None and every is not None:
        for at, (tensor, length) in enumerate(zip(every, lengths)):
            object_gather_list[at] = _opened(tensor, length)


def _sizes(objects: list[Any]) -> tuple[Tensor, Tensor]:
    packed = [array_of(_packed(one)) for one in objects]
    return from_numpy(np.array([one.size for one in packed], np.int64)), from_numpy(np.concatenate(packed))


def _fill(objects: list[Any], sizes: Tensor, data: Tensor) -> None:
    at, array = 0, array_of(data)
    for index, size in enumerate(array_of(sizes).tolist()):
        objects[index] = pickle.loads(array[at : at + size].tobytes())
        at += size


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Give every rank the objects of rank `src`; the lists have one length."""
    if _rank_not_in_group(group):
        return
    pg = chosen(group)
    root = rank_in(pg, src, group_src, default=0)
    if pg.rank() == root:
        sizes, data = _sizes(object_list)
    else:
        sizes = from_numpy(np.zeros(len(object_list), np.int64))
    broadcast(sizes, group=pg, group_src=root)
    if pg.rank() != root:
        data = _bytes(int(array_of(sizes).sum()))
    broadcast(data, group=pg, group_src=root)
    if pg.rank() != root:
        _fill(object_list, sizes, data)


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send objects to rank `dst`, which receives a list of that length."""
    if _rank_not_in_group(group):
        return
    pg = chosen(group)
    to = rank_in(pg, dst, group_dst)
    if pg.rank() == to:
        raise ValueError(
            "Invalid destination rank: destination rank should not be the same as the rank of the current process."
        )
    for tensor in _sizes(object_list):
        work = isend(tensor, group=pg, group_dst=to)
        assert work is not None
        work.wait()


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive objects into a list; the rank (of the world) that sent them, -1 outside of the group."""
    if _rank_not_in_group(group):
        return -1
    pg = chosen(group)
    sizes = from_numpy(np.zeros(len(object_list), np.int64))
    source = None if src is None and group_src is None else rank_in(pg, src, group_src)
    first = irecv(sizes, group=pg, group_src=source)
    assert first is not None
    first.wait()
    sender = first.source_rank() if source is None else source
    data = _bytes(int(array_of(sizes).sum()))
    second = irecv(data, group=pg, group_src=sender)
    assert second is not None
    second.wait()
    _fill(object_list, sizes, data)
    return get_global_rank(pg, sender)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    group_src: int | None = None,
) -> None:
    """An object for each rank, from the list of rank `src`, into the first place of a list."""
    if _rank_not_in_group(group):
        return
    if not isinstance(scatter_object_output_list, list) or len(scatter_object_output_list) < 1:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    pg = chosen(group)
    root = rank_in(pg, src, group_src, default=0)
    is_root = pg.rank() == root
    parts: list[Tensor] = []
    longest = _number(0)
    if is_root:
        if scatter_object_input_list is None:
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        parts = [_packed(one) for one in scatter_object_input_list]
        longest = _number(max(part.numel() for part in parts))
    broadcast(longest, group=pg, group_src=root)
    length, received = _number(0), _bytes(int(longest))
    scatter(received, [_padded(part, int(longest)) for part in parts] or None, group=pg, group_src=root)
    scatter(length, [_number(part.numel()) for part in parts] or None, group=pg, group_src=root)
    scatter_object_output_list[0] = _opened(received, int(length))
