"""From some placements to others: which collectives on what this rank has.

Dimensions of the mesh that split one dimension of the tensor do so one after another (`spec.splitting`), in their own
order where no placement is strided: the first splits it, and the next the parts of the first. So what is split by a
later one has to be put together before what an earlier one split.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mt_core as mt
from mt_library.ops import ops

from ..device_mesh import DeviceMesh
from ..functional import operators as _operators  # noqa: F401 - it enters the operators
from .placement_types import Partial, Placement, Replicate, Shard, _NormPartial
from .spec import DTensorSpec, in_order, shard_sizes, sharded_extent, split_dim, splitting

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
        for placements in (self.now, self.wanted):
            in_order(placements, self.mesh)  # refuses what is none

    def walked(self) -> mt.Tensor:
        """Take all steps."""
        while (at := self._to_join()) is not None:
            self._join(at)
        for at in in_order(self.wanted, self.mesh):
            if self.now[at] != self.wanted[at] and not self._stays(at):
                self._bring_about(at)
        return self.local

    def _join(self, at: int) -> None:
        """Put parts together, or exchange them for parts of another dimension, where these are wanted."""
        now, wanted = split_dim(self.now[at]), split_dim(self.wanted[at])
        assert now is not None
        if wanted is not None and self._fits(at, wanted):
            self._step(at, self.wanted[at], self._exchanged(at, now, wanted))
        else:
            self._step(at, Replicate(), self._gathered(at, now))

    def _bring_about(self, at: int) -> None:
        now, wanted = self.now[at], self.wanted[at]
        dim = split_dim(wanted)
        if isinstance(now, Partial):
            if dim is not None and not isinstance(now, _NormPartial):
                self._step(at, wanted, self._scattered(at, now, dim))
                return
            self._step(at, Replicate(), self._reduced(at, now))
        if dim is not None:
            self._step(at, wanted, self._split(at, dim))
        elif isinstance(wanted, Partial):
            self._step(at, wanted, self._divided(at, wanted))

    def _step(self, at: int, placement: Placement, local: mt.Tensor) -> None:
        self.local, self.now[at] = local, placement
        self.spec = DTensorSpec(self.mesh, tuple(self.now), self.spec.tensor_meta)

    def _splitting(self, placements: Sequence[Placement], dim: int) -> list[int]:
        found = splitting(placements, dim, self.mesh)
        assert found is not None, "parts of an order are orders"
        return found

    def _to_join(self) -> int | None:
        """The last dimension of the mesh whose parts have to be put together, and can be; None where none have."""
        for at in reversed(range(self.mesh.ndim)):
            dim = split_dim(self.now[at])
            if dim is not None and not self._stays(at) and self._splitting(self.now, dim)[-1] == at:
                return at
        return None

    def _stays(self, at: int) -> bool:
        """Whether a part remains as it is: what splits this dimension up to here is to split it then, too."""
        dim = split_dim(self.now[at])
        if dim is None:
            return False
        now, wanted = self._splitting(self.now, dim), self._splitting(self.wanted, dim)
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
