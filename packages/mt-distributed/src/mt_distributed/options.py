"""What the operations of a `ProcessGroup` are told beside their tensors."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from .reduce_ops import ReduceOp

__all__ = [
    "AllToAllOptions",
    "AllgatherOptions",
    "AllreduceCoalescedOptions",
    "AllreduceOptions",
    "BarrierOptions",
    "BroadcastOptions",
    "GatherOptions",
    "ReduceOptions",
    "ReduceScatterOptions",
    "ScatterOptions",
]

#: Stands for the timeout of the group.
UNSET = timedelta(milliseconds=-1)


@dataclass
class _Options:
    timeout: timedelta = UNSET
    asyncOp: bool = True


@dataclass
class AllreduceOptions(_Options):
    """Of ``allreduce``."""

    reduceOp: Any = ReduceOp.SUM
    sparseIndices: Any = None


@dataclass
class AllreduceCoalescedOptions(AllreduceOptions):
    """Of ``allreduce_coalesced``."""


@dataclass
class ReduceOptions(_Options):
    """Of ``reduce``."""

    reduceOp: Any = ReduceOp.SUM
    rootRank: int = 0
    rootTensor: int = 0


@dataclass
class BroadcastOptions(_Options):
    """Of ``broadcast``."""

    rootRank: int = 0
    rootTensor: int = 0


@dataclass
class AllgatherOptions(_Options):
    """Of ``allgather``."""


@dataclass
class GatherOptions(_Options):
    """Of ``gather``."""

    rootRank: int = 0


@dataclass
class ScatterOptions(_Options):
    """Of ``scatter``."""

    rootRank: int = 0


@dataclass
class ReduceScatterOptions(_Options):
    """Of ``reduce_scatter``."""

    reduceOp: Any = ReduceOp.SUM


@dataclass
class AllToAllOptions(_Options):
    """Of ``alltoall``."""


@dataclass
class BarrierOptions(_Options):
    """Of ``barrier``."""

    device_ids: list[int] = field(default_factory=list)
    device: Any = None
