"""Where the elements of a tensor lie: its mesh, placements, shape; and what part of it a rank has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import mt_core as mt

from ..device_mesh import DeviceMesh
from .placement_types import Placement, Shard, _StridedShard

__all__ = [
    "DTensorSpec",
    "TensorMeta",
    "in_order",
    "local_part",
    "normalized",
    "shard_sizes",
    "sharded_extent",
    "split_dim",
    "splitting",
]


class TensorMeta(NamedTuple):
    """Shape, strides and dtype of a whole tensor."""

    shape: Any
    stride: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class DTensorSpec:
    """How a tensor lies on a mesh.

    Parameters
    ----------
    mesh
        Whose ranks have it.
    placements
        One for each dimension of the mesh.
    tensor_meta
        What the whole tensor is.
    """

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    tensor_meta: TensorMeta

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh."""
        return self.mesh

    @property
    def shape(self) -> Any:
        """The whole tensor's shape."""
        return self.tensor_meta.shape

    @property
    def stride(self) -> tuple[int, ...]:
        """The whole tensor's strides."""
        return self.tensor_meta.stride

    @property
    def ndim(self) -> int:
        """How many dimensions the tensor has."""
        return len(self.tensor_meta.shape)

    @property
    def num_shards(self) -> int:
        """Into how many parts the tensor is split."""
        return math.prod(self.mesh.size(at) for at, one in enumerate(self.placements) if split_dim(one) is not None)

    @property
    def dim_map(self) -> list[int]:
        """For each dimension of the tensor the last dimension of the mesh that splits it, or -1."""
        found = [-1] * self.ndim
        for at, placement in enumerate(self.placements):
            dim = split_dim(placement)
            if dim is not None:
                found[dim] = at
        return found

    def is_replicated(self) -> bool:
        """Whether each rank has all of it."""
        return all(placement.is_replicate() for placement in self.placements)

    def is_sharded(self) -> bool:
        """Whether a dimension is split."""
        return any(split_dim(placement) is not None for placement in self.placements)

    def shown(self) -> str:
        """Dtype, shape and placements in few letters, for messages: ``f32[5, 4](S(0)R)``."""
        dtype = str(self.tensor_meta.dtype).removeprefix("torch.")
        letters = _LETTERS.get(dtype, dtype)
        return f"{letters}{list(self.tensor_meta.shape)}({''.join(map(str, self.placements))})"


_LETTERS = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
    "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "b8", "complex64": "c64", "complex128": "c128",
}  # fmt: skip


def split_dim(placement: Placement | None) -> int | None:
    """The dimension of a tensor that a placement splits, in whichever order; None for what splits none."""
    return placement.dim if isinstance(placement, (Shard, _StridedShard)) else None


def splitting(placements: Sequence[Placement], dim: int, mesh: DeviceMesh) -> list[int] | None:
    """The mesh dimensions that split a tensor's dimension, in the order in which they do so.

    A `Shard` splits before all that come after it; a `_StridedShard` with a factor of *f* after as many of these as
    make *f* parts.

    Returns
    -------
    list or None
        None for a factor that is no number of parts which later dimensions of the mesh make.
    """
    order: list[int] = []
    for at in reversed(range(len(placements))):
        placement = placements[at]
        if split_dim(placement) != dim:
            continue
        parts, place = 1, 0
        if isinstance(placement, _StridedShard):
            while parts < placement.split_factor and place < len(order):
                parts, place = parts * mesh.size(order[place]), place + 1
            if parts != placement.split_factor:
                return None
        order.insert(place, at)
    return order


def in_order(placements: Sequence[Placement], mesh: DeviceMesh) -> list[int]:
    """All dimensions of the mesh, those that split one dimension of a tensor in the order in which they do so.

    Raises
    ------
    NotImplementedError
        Where there is no such order.
    """
    orders = {dim: _splitting(placements, dim, mesh) for dim in map(split_dim, placements) if dim is not None}
    left = list(range(len(placements)))
    found: list[int] = []
    while left:
        for at in left:
            dim = split_dim(placements[at])
            if dim is None or orders[dim][0] == at:
                break
        left.remove(at)
        found.append(at)
        if dim is not None:
            orders[dim].pop(0)
    return found


def _splitting(placements: Sequence[Placement], dim: int, mesh: DeviceMesh) -> list[int]:
    order = splitting(placements, dim, mesh)
    if order is None:
        raise NotImplementedError(
            f"{tuple(placements)} on {mesh}: a _StridedShard is supported by mindtorch where its factor is a number of "
            "parts that later dimensions of the mesh split the same dimension into"
        )
    return order


def normalized(placements: Sequence[Placement], ndim: int) -> tuple[Placement, ...]:
    """Placements with dimensions counted from the front."""
    return tuple(
        Shard(placement.dim + ndim) if isinstance(placement, Shard) and placement.dim < 0 else placement
        for placement in placements
    )


def shard_sizes(size: int, count: int) -> list[int]:
    """How many rows each of `count` ranks has of `size`, as ``torch.chunk`` makes them; the last ones may have none."""
    return [Shard.local_shard_size_and_offset(size, count, rank)[0] for rank in range(count)]


def sharded_extent(spec: DTensorSpec, dim: int, before: int | None = None) -> tuple[int, int]:
    """(size, offset) of this rank's part of a dimension, or of what it is a part of before one of the mesh splits it.

    Raises
    ------
    NotImplementedError
        For a strided placement that is no order of splitting.
    """
    size, offset = spec.tensor_meta.shape[dim], 0
    coordinate = spec.mesh.get_coordinate()
    assert coordinate is not None
    for at in _splitting(spec.placements, dim, spec.mesh):
        if at == before:
            break
        size, start = Shard.local_shard_size_and_offset(size, spec.mesh.size(at), coordinate[at])
        offset += start
    return size, offset


def local_part(
    shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(shape, offset) of what this rank has of a tensor; nothing outside of the mesh."""
    if mesh.get_coordinate() is None:
        return (0,), ()
    spec = DTensorSpec(mesh, normalized(placements, len(shape)), TensorMeta(mt.Size(shape), (), None))
    parts = [sharded_extent(spec, dim) for dim in range(len(shape))]
    return tuple(size for size, _ in parts), tuple(offset for _, offset in parts)
