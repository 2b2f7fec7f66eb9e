"""``torch.distributed.tensor.placement_types``: how the ranks of one dimension of a mesh hold a tensor.

These are values: they can be made, compared and asked. `mt_distributed.tensor.redistribution` brings tensors
from one to another.
"""

from __future__ import annotations

from operator import index

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """How a tensor is held along one dimension of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each rank has a part, of dimension `dim` where that is given."""
        return False

    def is_replicate(self) -> bool:
        """Whether each rank has all of it."""
        return False

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether a reduction over the ranks is still to be done, by `reduce_op` where that is given."""
        return False


class Shard(Placement):
    """Each rank has a part of dimension `dim`, as ``torch.chunk`` makes them."""

    def __init__(self, dim: int) -> None:
        self._dim = index(dim)

    @property
    def dim(self) -> int:
        """The dimension that is split."""
        return self._dim

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether `dim` is None or the dimension that is split, written alike."""
        return dim is None or dim == self._dim

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """(size, offset) of a rank's part of a dimension; (0, size of the dimension) where nothing is left for it."""
        width = -(-curr_local_size // num_chunks)
        offset = min(rank * width, curr_local_size)
        return min(width, curr_local_size - offset), offset

    def __eq__(self, other: object) -> bool:
        return self._dim == other._dim if isinstance(other, Shard) else NotImplemented

    def __hash__(self) -> int:
        return hash((Shard, self._dim))

    def __repr__(self) -> str:
        return f"Shard(dim={self._dim})"

    def __str__(self) -> str:
        return f"S({self._dim})"


class _StridedShard(Placement):
    """Each rank has one part out of each of `split_factor` parts of dimension `dim`; it is no `Shard`."""

    def __init__(self, dim: int, *, split_factor: int = 1, sf: int | None = None) -> None:
        if sf is not None and split_factor != 1:
            raise TypeError("_StridedShard received both split_factor and sf")
        self._dim, self._split_factor = index(dim), index(split_factor if sf is None else sf)

    @property
    def dim(self) -> int:
        """The dimension that is split."""
        return self._dim

    @property
    def split_factor(self) -> int:
        """How many parts there are, of each of which a rank has a part."""
        return self._split_factor

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _StridedShard):
            return NotImplemented
        return (self._dim, self._split_factor) == (other._dim, other._split_factor)

    def __hash__(self) -> int:
        return hash((_StridedShard, self._dim, self._split_factor))

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self._dim}, sf={self._split_factor})"

    def __str__(self) -> str:
        return f"_S({self._dim}, {self._split_factor})"


class Replicate(Placement):
    """Each rank has all of the tensor."""

    def is_replicate(self) -> bool:
        """True."""
        return True

    def __eq__(self, other: object) -> bool:
        return True if isinstance(other, Replicate) else NotImplemented

    def __hash__(self) -> int:
        return hash(Replicate)

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


class Partial(Placement):
    """Each rank has a tensor of the whole shape, and the value is what `reduce_op` makes of them all."""

    def __init__(self, reduce_op: str | None = None) -> None:
        if not isinstance(reduce_op, (str, type(None))):
            raise TypeError(f"Partial(): argument 'reduce_op' must be str, not {type(reduce_op).__name__}")
        self._reduce_op = "sum" if reduce_op is None else reduce_op

    @property
    def reduce_op(self) -> str:
        """The reduction: ``sum``, ``avg``, ``max``."""
        return self._reduce_op

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether `reduce_op` is None or the reduction."""
        return reduce_op is None or reduce_op == self._reduce_op

    def __eq__(self, other: object) -> bool:
        return self._reduce_op == other._reduce_op if isinstance(other, Partial) else NotImplemented

    def __hash__(self) -> int:
        return hash((Partial, self._reduce_op))

    def __repr__(self) -> str:
        return f"Partial({self._reduce_op})"

    def __str__(self) -> str:
        return f"P({self._reduce_op})"


class _NormPartial(Partial):
    """Each rank has a norm of its part of a tensor, and the value is the norm of them all.

    Parameters
    ----------
    norm_type
        The exponent; infinite for the largest absolute value.
    """

    def __init__(self, norm_type: float = 2) -> None:
        super().__init__({float("inf"): "max", float("-inf"): "min", 1: "sum"}.get(norm_type, "norm"))
        self.norm_type = norm_type

    def __eq__(self, other: object) -> bool:
        return self.norm_type == other.norm_type if isinstance(other, _NormPartial) else NotImplemented

    def __hash__(self) -> int:
        return hash((_NormPartial, self.norm_type))

    def __repr__(self) -> str:
        return f"_NormPartial({self.norm_type})"
