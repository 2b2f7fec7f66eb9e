"""Reading and writing by indices and masks: batching rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...api import _functions as ops
from ...layout import broadcast_shapes
from ..batched import Lanes
from ._rules import LOOPED, Batch, batching_rule, behind, of_dynamic_shape, one_lane

of_dynamic_shape("nonzero")
#: Rows that are read from the tensor of indices: how often each is repeated, which bag it is in, which is shortened.
LOOPED.update({"repeat_interleave.Tensor", "repeat_interleave.self_Tensor", "nonzero_static"})
LOOPED.update({"embedding_bag", "embedding_bag.padding_idx", "_embedding_bag", "_embedding_bag_forward_only"})
LOOPED.add("embedding_renorm_")


def as_vector(lanes: Lanes, size: int) -> Any:
    """Every lane, one without dimensions as a vector of one element."""
    value = lanes.spread(size)
    return value if lanes.rank else value.unsqueeze(1)


def shaped(value: Any, lanes: Lanes) -> Any:
    """What was made of `as_vector`, with as many dimensions as the lanes have."""
    return value if lanes.rank else value.squeeze(1)


# Indices along one dimension, one for each element


@batching_rule("gather")
def gather(batch: Batch, self: Lanes, dim: int, index: Lanes, sparse_grad: bool = False) -> Any:
    if max(self.rank, 1) != max(index.rank, 1):
        batch.overload.call(one_lane(self), dim, one_lane(index), sparse_grad)
    made = batch.overload.call(
        as_vector(self, batch.size), behind(dim, self.rank), as_vector(index, batch.size), sparse_grad
    )
    return shaped(made, index)


@batching_rule(
    "scatter.src", "scatter.value", "scatter_add", "scatter.reduce", "scatter.value_reduce", "scatter_reduce.two"
)
def scatter(batch: Batch, self: Lanes, dim: int, index: Lanes, source: Any, *rest: Any) -> Any:
    is_tensor = isinstance(source, Lanes)
    given = [lanes for lanes in (self, index, source) if isinstance(lanes, Lanes)]
    if any(max(lanes.rank, 1) != max(self.rank, 1) for lanes in given):
        batch.overload.call(one_lane(self), dim, one_lane(index), one_lane(source) if is_tensor else source, *rest)
    moved = as_vector(source, batch.size) if is_tensor else source
    at = behind(dim, self.rank)
    return shaped(
        batch.overload.call(as_vector(self, batch.size), at, as_vector(index, batch.size), moved, *rest), self
    )


# Rows along one dimension


@batching_rule("index_select")
def index_select(batch: Batch, self: Lanes, dim: int, index: Lanes) -> Any:
    at = behind(dim, self.rank)
    if index.rank > 1:
        batch.overload.call(one_lane(self), dim, one_lane(index))
    value = as_vector(self, batch.size)
    if index.dim is None:
        return shaped(batch.overload.call(value, at, index.value), self)
    return shaped(ops.gather(value, at, _along(as_vector(index, batch.size), value, at)), self)


def _along(index: Any, value: Any, at: int) -> Any:
    """Indices (batch, k) for each row of a tensor along a dimension: the tensor's shape, with k there."""
    shape = list(value.shape)
    shape[at] = index.shape[1]
    single = [1] * len(shape)
    single[0], single[at] = index.shape
    return index.reshape(single).expand(shape)


def _rows(names: str, by: Any) -> None:
    """Operators that write rows of `source` where an index says, by `by` (tensor, dim, index, source) for each lane."""

    def rule(batch: Batch, self: Lanes, dim: int, index: Lanes, source: Lanes, *rest: Any) -> Any:
        if index.dim is not None or self.rank == 0:
            one_source = one_lane(source)
            batch.overload.call(one_lane(self), dim, one_lane(index), one_source, *rest)
        value, at = as_vector(self, batch.size), behind(dim, self.rank)
        moved = as_vector(source, batch.size)
        if index.dim is None:
            return shaped(batch.overload.call(value, at, index.value, moved, *rest), self)
        return shaped(by(value, at, _along(as_vector(index, batch.size), value, at), moved, *rest), self)

    batching_rule(*names.split())(rule)


def _added(value: Any, at: int, index: Any, source: Any, alpha: Any = 1) -> Any:
    return ops.scatter_add(value, at, index, source if alpha == 1 else source * alpha)


def _reduced(value: Any, at: int, index: Any, source: Any, reduce: str, include_self: bool = True) -> Any:
    return ops.scatter_reduce(value, at, index, source, reduce, include_self=include_self)


_rows("index_add", _added)
_rows("index_copy", ops.scatter)
_rows("index_reduce", _reduced)


@batching_rule("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(batch: Batch, self: Lanes, dim: int, index: Lanes, value: Any) -> Any:
    """By the index where all lanes share it and the value, else by a mask (batch, n) of the rows that it names."""
    filled, at = as_vector(self, batch.size), behind(dim, self.rank)
    is_shared = index.dim is None and not (isinstance(value, Lanes) and value.dim is not None)
    if is_shared:
        given = value.value if isinstance(value, Lanes) else value
        return shaped(batch.overload.call(filled, at, index.value, given), self)
    other = one_lane(value) if isinstance(value, Lanes) else value
    batch.overload.call(one_lane(self), dim, one_lane(index), other)
    places = as_vector(index, batch.size)
    places = ops.where(places < 0, places + filled.shape[at], places)
    mask = ops.zeros_like(filled, dtype=dtypes.bool).scatter(at, _along(places, filled, at), True)
    if not isinstance(value, Lanes):
        return shaped(ops.masked_fill(filled, mask, value), self)
    return shaped(ops.where(mask, value.at_rank(self.rank or 1).to(filled.dtype), filled), self)


@batching_rule("embedding")
def embedding(batch: Batch, weight: Lanes, indices: Lanes, *options: Any) -> Any:
    if weight.dim is None:
        return batch.overload.call(weight.value, indices.front(), *options)
    batch.overload.call(one_lane(weight), one_lane(indices), *options)
    value, flat = weight.front(), indices.spread(batch.size).reshape(batch.size, -1)
    rows = ops.gather(value, 1, _along(flat.to(dtypes.int64), value, 1))
    return rows.reshape(batch.size, *indices.shape, weight.shape[1])


@batching_rule("embedding_dense_backward")
def embedding_dense_backward(
    batch: Batch, grad_output: Lanes, indices: Lanes, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    """The rows of grad_output (batch, N, E) are added to those of zeros (batch, num_weights, E) that indices name."""
    flat = indices.spread(batch.size).reshape(batch.size, -1).to(dtypes.int64)
    grad = grad_output.spread(batch.size).reshape(batch.size, flat.shape[1], -1)
    grad = ops.masked_fill(grad, (flat == padding_idx).unsqueeze(-1), 0)
    if scale_grad_by_freq:
        counts = ops.scatter_add(
            grad.new_zeros(batch.size, num_weights), 1, flat, ops.ones_like(flat, dtype=grad.dtype)
        )
        grad = grad / ops.gather(counts, 1, flat).unsqueeze(-1)
    zeros = grad.new_zeros(batch.size, num_weights, grad.shape[-1])
    return ops.scatter_add(zeros, 1, flat.unsqueeze(-1).expand(grad.shape), grad)


@batching_rule("one_hot")
def one_hot(batch: Batch, self: Lanes, num_classes: int = -1) -> Any:
    """Numbers are not looked at: one that is no class is a row of zeros."""
    if num_classes <= 0:
        raise RuntimeError(
            "vmap: one_hot with num_classes=-1 reads the greatest class from the elements: give the number of classes"
        )
    classes = ops.arange(num_classes, device=self.value.device)
    return (self.front().unsqueeze(-1) == classes).to(dtypes.int64)


# Indices of several dimensions


class _Places:
    """What indices pick of each lane.

    Attributes
    ----------
    entries : list of (Lanes or None)
        One for each dimension that is indexed or passed over, masks taken apart.
    rank : int
        Number of dimensions of the indices, broadcast.
    before : int
        How many dimensions of the result stand before those of the indices.
    """

    def __init__(self, indices: Sequence[Lanes | None]) -> None:
        self.entries = [entry for index in indices for entry in _taken_apart(index)]
        self.at = [i for i, entry in enumerate(self.entries) if entry is not None]
        self.given = [entry for entry in self.entries if entry is not None]
        self.rank = max(entry.rank for entry in self.given)
        adjacent = self.at == list(range(self.at[0], self.at[-1] + 1))
        self.before = self.at[0] if adjacent else 0

    def aligned(self) -> list[Any]:
        """The indices with the batch dimension in front, those that all lanes share without."""
        return [None if entry is None else entry.at_rank(self.rank) for entry in self.entries]

    def with_lanes(self, batch: Batch, device: Any) -> list[Any]:
        """`aligned`, behind the index of the lane: the result is (batch, *indices, *rest)."""
        lane = ops.arange(batch.size, device=device).view([batch.size] + [1] * self.rank)
        return [lane, *self.aligned()]

    def moved(self, value: Any, back: bool = False) -> Any:
        """(batch, *indices, *rest) with the dimensions of the indices where the result of a lane has them."""
        first = list(range(1, 1 + self.rank))
        there = [dim + self.before for dim in first]
        return value.movedim(there, first) if back else value.movedim(first, there)


def _taken_apart(index: Lanes | None) -> list[Lanes | None]:
    if index is None or index.value.dtype not in (dtypes.bool, dtypes.uint8):
        return [index]
    if index.dim is not None:
        raise RuntimeError(
            "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
            "indexing with a boolean mask."
        )
    return [Lanes(part, None) for part in index.value.nonzero().unbind(1)]


@batching_rule("index.Tensor")
def index(batch: Batch, self: Lanes, indices: Sequence[Lanes | None]) -> Any:
    places = _Places(indices)
    if self.dim is None:
        return batch.overload.call(self.value, places.aligned()).movedim(places.before, 0)
    made = batch.overload.call(self.front(), places.with_lanes(batch, self.value.device))
    return places.moved(made)


@batching_rule("index_put")
def index_put(
    batch: Batch, self: Lanes, indices: Sequence[Lanes | None], values: Lanes, accumulate: bool = False
) -> Any:
    places = _Places(indices)
    rank = places.rank + self.rank - len(places.given)
    if values.rank > rank:
        one_indices = [None if entry is None else one_lane(entry) for entry in places.entries]
        batch.overload.call(one_lane(self), one_indices, one_lane(values), accumulate)
    written = Lanes(values.spread(batch.size), 0).at_rank(rank)
    return batch.overload.call(
        self.spread(batch.size),
        places.with_lanes(batch, self.value.device),
        places.moved(written, back=True),
        accumulate,
    )


@batching_rule("take")
def take(batch: Batch, self: Lanes, index: Lanes) -> Any:
    return _of_rows(batch, self, index).reshape(batch.size, *index.shape)


def _of_rows(batch: Batch, self: Lanes, index: Lanes) -> Any:
    flat = index.spread(batch.size).reshape(batch.size, -1)
    return _row_elements(batch, self).__getitem__((_lane_numbers(batch, self), flat))


def _row_elements(batch: Batch, self: Lanes) -> Any:
    return self.spread(batch.size).reshape(batch.size, -1)


def _lane_numbers(batch: Batch, self: Lanes) -> Any:
    return ops.arange(batch.size, device=self.value.device).unsqueeze(1)


@batching_rule("put")
def put(batch: Batch, self: Lanes, index: Lanes, source: Lanes, accumulate: bool = False) -> Any:
    batch.overload.call(one_lane(self), one_lane(index), one_lane(source), accumulate)
    flat = index.spread(batch.size).reshape(batch.size, -1)
    written = source.spread(batch.size).reshape(batch.size, -1)
    made = ops.index_put(_row_elements(batch, self), (_lane_numbers(batch, self), flat), written, accumulate)
    return made.reshape(batch.size, *self.shape)


# Masks


def _broadcast(value: Any, mask: Any, size: int) -> tuple[Any, Any]:
    """Both with the shape that they have together, the batch dimension in front of it."""
    shape = broadcast_shapes([tuple(value.shape), tuple(mask.shape), (size,) + (1,) * (value.dim() - 1)])
    return value.expand(shape), mask.expand(shape)


@batching_rule("masked_fill.Scalar")
def masked_fill(batch: Batch, self: Lanes, mask: Lanes, value: Any) -> Any:
    rank = max(self.rank, mask.rank)
    return batch.overload.call(self.at_rank(rank), mask.at_rank(rank), value)


@batching_rule("masked_fill.Tensor")
def masked_fill_tensor(batch: Batch, self: Lanes, mask: Lanes, value: Lanes) -> Any:
    rank = max(self.rank, mask.rank)
    if value.dim is None:
        return batch.overload.call(self.at_rank(rank), mask.at_rank(rank), value.value)
    batch.overload.call(one_lane(self), one_lane(mask), one_lane(value))
    return ops.where(mask.at_rank(rank), value.at_rank(rank).to(self.value.dtype), self.at_rank(rank))


@batching_rule("masked_scatter")
def masked_scatter(batch: Batch, self: Lanes, mask: Lanes, source: Lanes) -> Any:
    """The n-th true element gets the n-th of the source: n is counted along the mask."""
    batch.overload.call(one_lane(self), one_lane(mask), one_lane(source))
    rank = max(self.rank, mask.rank)
    whole = Lanes(self.spread(batch.size), 0)
    filled, chosen = _broadcast(whole.at_rank(rank), mask.at_rank(rank), batch.size)
    if not filled.numel():
        return filled.clone()
    flat = chosen.reshape(batch.size, -1)
    counted = (flat.cumsum(1) - 1) * flat
    taken = ops.gather(source.spread(batch.size).reshape(batch.size, -1), 1, counted)
    return ops.where(chosen, taken.view(chosen.shape), filled)


@batching_rule("masked_select")
def masked_select(batch: Batch, self: Lanes, mask: Lanes) -> Any:
    if mask.dim is not None:
        raise RuntimeError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for "
            "each batch this would return a differently shaped Tensor. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues if you need this feature."
        )
    value, chosen = _broadcast(self.at_rank(max(self.rank, mask.rank)), mask.value, batch.size)
    places = chosen[0].reshape(-1).nonzero().squeeze(1)
    return value.reshape(batch.size, -1).index_select(1, places)


# Views that are written to in a copy


@batching_rule("diagonal_scatter")
def diagonal_scatter(batch: Batch, self: Lanes, src: Lanes, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    dims = behind(dim1, self.rank), behind(dim2, self.rank)
    return batch.overload.call(self.spread(batch.size), src.spread(batch.size), offset, *dims)


@batching_rule("select_scatter", "slice_scatter")
def scatter_along(batch: Batch, self: Lanes, src: Lanes, dim: int = 0, *rest: Any) -> Any:
    return batch.overload.call(self.spread(batch.size), src.spread(batch.size), behind(dim, self.rank), *rest)


@batching_rule("as_strided_scatter")
def as_strided_scatter(
    batch: Batch, self: Lanes, src: Lanes, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    value = self.spread(batch.size).contiguous()
    return batch.overload.call(
        value, src.spread(batch.size), [batch.size, *size], [value.stride(0), *stride], storage_offset
    )
