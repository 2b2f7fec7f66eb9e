"""``torch.distributed.fsdp``: parameters that are spread over the ranks, which are not supported."""

from __future__ import annotations

from ..._unsupported import unsupported_class, unsupported_function

__all__ = [
    "CPUOffloadPolicy", "FSDPModule", "FullyShardedDataParallel", "MixedPrecisionPolicy", "OffloadPolicy",
    "fully_shard",
]  # fmt: skip

_REMEDY = "DistributedDataParallel keeps all parameters on every rank."

FSDPModule = unsupported_class("torch.distributed.fsdp.FSDPModule", _REMEDY)
FullyShardedDataParallel = unsupported_class("torch.distributed.fsdp.FullyShardedDataParallel", _REMEDY)
fully_shard = unsupported_function("torch.distributed.fsdp.fully_shard", _REMEDY)

CPUOffloadPolicy = unsupported_class("torch.distributed.fsdp.CPUOffloadPolicy", _REMEDY)
MixedPrecisionPolicy = unsupported_class("torch.distributed.fsdp.MixedPrecisionPolicy", _REMEDY)
OffloadPolicy = unsupported_class("torch.distributed.fsdp.OffloadPolicy", _REMEDY)
