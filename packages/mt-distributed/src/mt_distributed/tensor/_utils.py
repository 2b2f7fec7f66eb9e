"""``torch.distributed.tensor._utils``: what libraries ask of it."""

from __future__ import annotations

from collections.abc import Sequence

from ..device_mesh import DeviceMesh
from .placement_types import Placement
from .spec import local_part

__all__ = ["compute_local_shape_and_global_offset"]


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(shape, offset) of this rank's part of a tensor of a shape; ((0,), ()) outside of the mesh."""
    return local_part(global_shape, mesh, placements)
