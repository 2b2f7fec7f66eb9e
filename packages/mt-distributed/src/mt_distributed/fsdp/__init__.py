"""``torch.distributed.fsdp``: models whose parameters, gradients and optimizer states are spread over ranks.

`fully_shard`: what programs call; `state`: what happens around forwards and backwards; `parameter_group`: gathering and
reducing; `sharded_parameter`: one parameter; `policies`: dtypes.
"""

from __future__ import annotations

from .. import refusing as _refusing
from .fully_shard import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method
from .policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy

__all__ = [
    "CPUOffloadPolicy",
    "FSDPModule",
    "FullyShardedDataParallel",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
]

FullyShardedDataParallel = _refusing.refused_class(
    "torch.distributed.fsdp", "FullyShardedDataParallel", "fully_shard is."
)
