"""From some placements to others: which collectives on what this rank has.

Dimensions of the mesh that split one dimension of the tensor do so in their order: the first splits it, and the next
the parts of the first. So what is split by a later one has to be put together before what an earlier one split.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mt_core as mt
from mt_library.ops import ops

from ..device_mesh import DeviceMesh
from ..functional import operators as _operators  # noqa: F401 - it enters the operators
from .placement_types import Partial, Placement, Replicate, Shard, _NormPartial, _StridedShard
from .spec import DTensorSpec, shard_sizes, sharded_extent

__all__ = ["redistributed", "split_at"]

_collectives = ops._c10d_functional


def redistributed(local: mt.Tensor, current: DTensorSpec, placements: Sequence[Placement]) -> mt.Tensor:
    """What this rank has of a tensor under other placements on the same mesh.

    Raises
    ------
    NotImplementedError
        For placements between which there is no way here.
    """
    if current.mesh.get_coordinate() is None or tuple(placements) == current.placements:
        return local
    return _Way(local, current, placements).walked()


class _Way:
    """The steps from one list of placements to another."""

    def __init__(self, local: mt.Tensor, current: DTensorSpec, placements: Sequence[Placement]) -> None:
        self.local, self.spec = local, current
        self.mesh, self.now, self.wanted = current.mesh, list(current.placements), list(placements)
        strided = [one for one in (*self.now, *self.wanted) if isinstance(one, _StridedShard)]
        if strided and self.now != self.wanted:
            raise NotImplementedError(
                f"redistribute from {tuple(self.now)} to {tuple(self.wanted)}: {strided[0]!r} is not supported by "
                "mindtorch, only plain Shard is"
            )

    def walked(self) -> mt.Tensor:
        """Take all steps."""
        for at in reversed(range(self.mesh.ndim)):
            now = self.now[at]
            if isinstance(now, Shard) and not self._stays(at, now):
                wanted = self.wanted[at]
                if isinstance(wanted, Shard) and self._fits(at, wanted.dim):
                    self._step(at, wanted, self._exchanged(at, now.dim, wanted.dim))
                else:
                    self._step(at, Replicate(), self._gathered(at, now.dim))
        for at in range(self.mesh.ndim):
            now, wanted = self.now[at], self.wanted[at]
            if now == wanted:
                continue
            if isinstance(now, Partial):
                if isinstance(wanted, Shard) and not isinstance(now, _NormPartial) and self._fits(at, wanted.dim):
                    self._step(at, wanted, self._scattered(at, now, wanted.dim))
                    continue
                self._step(at, Replicate(), self._reduced(at, now))
            if isinstance(wanted, Shard):
                self._step(at, wanted, self._split(at, wanted.dim))
            elif isinstance(wanted, Partial):
                self._step(at, wanted, self._divided(at, wanted))
        return self.local

    def _step(self, at: int, placement: Placement, local: mt.Tensor) -> None:
        self.local, self.now[at] = local, placement
        self.spec = DTensorSpec(self.mesh, tuple(self.now), self.spec.tensor_meta)

    def _splitting(self, placements: Sequence[Placement], dim: int) -> list[int]:
        return [at for at, one in enumerate(placements) if isinstance(one, Shard) and one.dim == dim]

    def _stays(self, at: int, placement: Shard) -> bool:
        """Whether a part remains as it is: what splits this dimension up to here is to split it then, too."""
        now, wanted = self._splitting(self.now, placement.dim), self._splitting(self.wanted, placement.dim)
        until = now.index(at) + 1
        return now[:until] == wanted[:until]

    def _fits(self, at: int, dim: int) -> bool:
        """Whether a dimension can be split now: what splits it before is all there, and nothing that comes after."""
        now, wanted = self._splitting(self.now, dim), self._splitting(self.wanted, dim)
        return [*now, at] == wanted[: len(now) + 1]

    def _sizes(self, at: int, dim: int) -> list[int]:
        """How many rows of a dimension the ranks along a mesh dimension have, if it is split by that one last."""
        return shard_sizes(sharded_extent(self.spec, dim, at)[0], self.mesh.size(at))

    def _rank(self, at: int) -> int:
        coordinate = self.mesh.get_coordinate()
        assert coordinate is not None
        return coordinate[at]

    def _name(self, at: int) -> str:
        return str(self.mesh.get_group(at).group_name)

    def _split(self, at: int, dim: int) -> mt.Tensor:
        return split_at(self.local, dim, self.mesh.size(at), self._rank(at))

    def _gathered(self, at: int, dim: int) -> mt.Tensor:
        sizes, count = self._sizes(at, dim), self.mesh.size(at)
        rows = _padded(self.local.transpose(0, dim), sizes[0]).contiguous()
        whole = _waited(_collectives.all_gather_into_tensor(rows, count, self._name(at)))
        if len(set(sizes)) > 1:
            whole = mt.cat([part.narrow(0, 0, size) for part, size in zip(whole.split(sizes[0]), sizes, strict=True)])
        return whole.transpose(0, dim).contiguous()

    def _exchanged(self, at: int, dim: int, to: int) -> mt.Tensor:
        given = [part.contiguous() for part in self.local.split(self._sizes(at, to), to)]
        rows, columns = self._sizes(at, dim), given[self._rank(at)].shape[to]
        shape = list(self.local.shape)
        shape[to] = columns
        shapes = [[*shape[:dim], size, *shape[dim + 1 :]] for size in rows]
        counts = [_count(one) for one in shapes]
        sent = mt.cat([part.reshape(-1) for part in given])
        got = _waited(_collectives.all_to_all_single(sent, counts, [part.numel() for part in given], self._name(at)))
        parts = [part.reshape(one) for part, one in zip(got.split(counts), shapes, strict=True)]
        return mt.cat(parts, dim)

    def _scattered(self, at: int, placement: Partial, dim: int) -> mt.Tensor:
        sizes, count = self._sizes(at, dim), self.mesh.size(at)
        parts = [_padded(part.transpose(0, dim), sizes[0]) for part in self.local.split(sizes, dim)]
        rows = mt.cat(parts).contiguous()
        own = _waited(_collectives.reduce_scatter_tensor(rows, placement.reduce_op, count, self._name(at)))
        return own.narrow(0, 0, sizes[self._rank(at)]).transpose(0, dim).contiguous()

    def _reduced(self, at: int, placement: Partial) -> mt.Tensor:
        if isinstance(placement, _NormPartial) and placement.reduce_op == "norm":
            powers = self.local.abs() ** placement.norm_type
            total = _waited(_collectives.all_reduce(powers, "sum", self._name(at)))
            return total ** (1 / placement.norm_type)
        return _waited(_collectives.all_reduce(self.local.contiguous(), placement.reduce_op, self._name(at)))

    def _divided(self, at: int, placement: Partial) -> mt.Tensor:
        """What each rank takes of a value that all have, so that the reduction gives it back."""
        if placement.reduce_op in ("max", "min", "avg"):
            return self.local
        if placement.reduce_op != "sum":
            raise NotImplementedError(f"redistribute to {placement!r} is not supported by mindtorch")
        if self.local.is_floating_point() or self.local.is_complex():
            return self.local / self.mesh.size(at)
        return self.local if self._rank(at) == 0 else mt.zeros_like(self.local)


def split_at(tensor: mt.Tensor, dim: int, count: int, rank: int) -> mt.Tensor:
    """A rank's part of a dimension, contiguous."""
    size, offset = Shard.local_shard_size_and_offset(tensor.shape[dim], count, rank)
    return tensor.narrow(dim, offset, size).contiguous()


def broadcast_along(tensor: mt.Tensor, mesh: DeviceMesh, at: int, source: int = 0) -> mt.Tensor:
    """The tensor of the rank with an index along a mesh dimension."""
    return _waited(_collectives.broadcast(tensor, source, mesh.get_group(at).group_name))


def _padded(rows: mt.Tensor, size: int) -> mt.Tensor:
    missing = size - rows.shape[0]
    return rows if missing == 0 else mt.cat([rows, rows.new_zeros((missing, *rows.shape[1:]))])


def _count(shape: Sequence[int]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def _waited(tensor: Any) -> Any:
    return _collectives.wait_tensor(tensor)
