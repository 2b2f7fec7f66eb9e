"""``torch.nn.parallel.distributed``: one model on many processes, each with a part of every batch."""

from __future__ import annotations

from .module import DistributedDataParallel

__all__ = ["DistributedDataParallel"]
