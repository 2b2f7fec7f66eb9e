"""Messages from one rank to another."""

from collections.abc import Callable
from typing import Any

from mt_core import Tensor

from .functions import check_tensor, rank_in
from .process_group import ProcessGroup
from .work import Work
from .world import _rank_not_in_group, chosen, get_global_rank

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Begin to send a tensor to rank `dst` (of the world); it must stay as it is until the work is done."""
    check_tensor(tensor, "tensor")
    if _rank_not_in_group(group):
        return None
    pg = chosen(group)
    to = rank_in(pg, dst, group_dst)
    if pg.rank() == to:
        raise ValueError(
            "Invalid destination rank: destination rank should not be the same as the rank of the current process."
        )
    return pg.send([tensor], to, tag)


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Begin to receive into a tensor, from rank `src` (of the world) or, without it, from any."""
    check_tensor(tensor, "tensor")
    if _rank_not_in_group(group):
        return None
    pg = chosen(group)
    if src is None and group_src is None:
        return pg.recv_anysource([tensor], tag)
    return pg.recv([tensor], rank_in(pg, src, group_src), tag)


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to rank `dst` (of the world)."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive into a tensor; the rank (of the world) that sent, -1 outside of the group."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    if src is not None:
        return src
    pg = chosen(group)
    return get_global_rank(pg, work._source_rank() if group_src is None else group_src)


class P2POp:
    """One message of `batch_isend_irecv`.

    Parameters
    ----------
    op
        `isend` or `irecv`.
    tensor
        What is sent, or where it is received.
    peer, group_peer
        The other rank, of the world or of the group.
    """

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = chosen(group)
        self.group_peer = rank_in(self.group, peer, group_peer)
        self.peer = get_global_rank(self.group, self.group_peer)

    def __repr__(self) -> str:
        return (
            f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={self.group.rank()}, "
            f"group_dst={self.group_peer}, {self.tensor.shape}, {self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Begin all messages of a list.

    Raises
    ------
    ValueError
        For what is no `P2POp`, and for operations of several groups.
    """
    if not all(isinstance(one, P2POp) for one in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    group = p2p_op_list[0].group
    if not all(one.group is group for one in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    begun = []
    for one in p2p_op_list:
        peer = {"group_dst" if one.op is isend else "group_src": one.group_peer}
        begun.append(one.op(one.tensor, group=one.group, tag=one.tag, **peer))
    return [work for work in begun if work is not None]
