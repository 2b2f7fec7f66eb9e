"""``torch.distributed.fsdp.fully_sharded_data_parallel``: where libraries import the class from that they look for."""

from __future__ import annotations

from . import FullyShardedDataParallel as FullyShardedDataParallel

__all__ = ["FullyShardedDataParallel"]
