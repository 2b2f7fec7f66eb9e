"""How a process without inputs goes along with the collectives of `DistributedDataParallel`."""

from __future__ import annotations

from typing import Any

import mt_core as mt

from .. import distributed_c10d as dist
from ..algorithms.join import JoinHook

__all__ = ["DDPJoinHook", "common_rank", "requires_sync"]


class DDPJoinHook(JoinHook):
    """Adds zeros to the others' gradients, and takes the final model from the last that joined."""

    def __init__(self, ddp: Any, divide_by_initial_world_size: bool) -> None:
        self.ddp = ddp
        ddp._divide_by_initial_world_size = divide_by_initial_world_size

    def main_hook(self) -> None:
        """Go along with one iteration: buffers, gradients, and which parameters were used."""
        ddp, reducer = self.ddp, self.ddp.reducer
        reducer.rebuild_buckets()
        if ddp._check_sync_bufs_pre_fwd():
            ddp._sync_module_buffers(common_rank(ddp, False))
        ddp.require_forward_param_sync = requires_sync(ddp, is_joined=True)
        if not ddp.require_forward_param_sync:
            return
        reducer.go_along()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Take the model of the last that joined."""
        ddp = self.ddp
        ddp._sync_module_states(common_rank(ddp, is_last_joiner))


def common_rank(ddp: Any, is_candidate: bool) -> int:
    """The highest rank among those that are candidates."""
    own = ddp.process_group.rank()
    rank = mt.tensor([own if is_candidate else -1], device=ddp.device)
    dist.all_reduce(rank, op=dist.ReduceOp.MAX, group=ddp.process_group)
    if rank.item() == -1:
        raise RuntimeError("BUG! Expected rank_cond to be true for at least one process.")
    return int(rank.item())


def requires_sync(ddp: Any, is_joined: bool) -> bool:
    """Whether the processes that have inputs reduce gradients in this iteration."""
    syncs = not is_joined and ddp.require_backward_grad_sync
    flag = mt.ones(1, device=ddp.device) if syncs else mt.zeros(1, device=ddp.device)
    dist.all_reduce(flag, group=ddp.process_group)
    return bool(flag.item() != 0)
