"""``torch.distributed.tensor._utils``: what libraries ask of it, for tensors that there are none of."""

from __future__ import annotations

from ..._unsupported import unsupported_function

__all__ = ["compute_local_shape_and_global_offset"]

compute_local_shape_and_global_offset = unsupported_function(
    "torch.distributed.tensor._utils.compute_local_shape_and_global_offset", "There are no device meshes."
)
