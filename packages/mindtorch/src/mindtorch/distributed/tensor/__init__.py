"""``torch.distributed.tensor``: placements are values; of tensors that are placed by them there are none."""

from __future__ import annotations

from ..._unsupported import unsupported_class, unsupported_function
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor"]

_REMEDY = "Collectives on each rank's own tensors, and DistributedDataParallel, are."

DTensor = unsupported_class("torch.distributed.tensor.DTensor", _REMEDY)
distribute_tensor = unsupported_function("torch.distributed.tensor.distribute_tensor", _REMEDY)
distribute_module = unsupported_function("torch.distributed.tensor.distribute_module", _REMEDY)
