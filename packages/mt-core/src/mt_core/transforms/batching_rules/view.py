"""Views and other changes of geometry: batching rules.

The hidden dimension goes to the front, and every dimension that the function names is counted behind it. What is a view
stays one, so that what is written through it arrives in the tensor that it was taken from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...api import _functions as ops
from ...dispatch.registry import find_overload
from ...promotion import result_type_of
from ..batched import Lanes
from ._rules import Batch, batching_rule, behind, one_lane


def _alias(value: Any) -> Any:
    return find_overload("alias").call(value)


# Dimensions in another order


@batching_rule("alias", "detach", "lift_fresh", "_conj", "_neg_view", "view_as_real")
def elements_alone(batch: Batch, self: Lanes) -> Any:
    return batch.overload.call(self.front())


@batching_rule("transpose.int")
def transpose(batch: Batch, self: Lanes, dim0: int, dim1: int) -> Any:
    dims = [behind(dim0, self.rank), behind(dim1, self.rank)]
    return self.front().transpose(*dims) if self.rank else _alias(self.front())


@batching_rule("permute")
def permute(batch: Batch, self: Lanes, dims: Sequence[int]) -> Any:
    return self.front().permute([0, *(behind(dim, self.rank) for dim in dims)])


@batching_rule("t")
def t(batch: Batch, self: Lanes) -> Any:
    if self.rank > 2:
        batch.overload.call(one_lane(self))
    return self.front().transpose(1, 2) if self.rank == 2 else _alias(self.front())


# Sizes


@batching_rule("expand")
def expand(batch: Batch, self: Lanes, size: Sequence[int], implicit: bool = False) -> Any:
    """Where the tensor has fewer dimensions than `size`, those missing stand behind the batch dimension."""
    missing = len(size) - self.rank
    if missing < 0 or any(n < 0 for n in size[:missing]):
        batch.overload.call(one_lane(self), size, implicit)
    return batch.overload.call(self.at_rank(len(size)), [batch.size, *size], implicit)


@batching_rule("view")
def view(batch: Batch, self: Lanes, size: Sequence[int]) -> Any:
    return batch.overload.call(self.front(), [batch.size, *_without_gap(batch, self, size)])


@batching_rule("_unsafe_view")
def unsafe_view(batch: Batch, self: Lanes, size: Sequence[int]) -> Any:
    """Of what no one else sees: where lanes lie between its elements it may be copied."""
    return self.front().reshape([batch.size, *_without_gap(batch, self, size)])


def _without_gap(batch: Batch, self: Lanes, size: Sequence[int]) -> Sequence[int]:
    """The sizes with what -1 stands for, which no lane at all would leave open."""
    known = math.prod(n for n in size if n >= 0)
    count = math.prod(self.shape)
    if list(size).count(-1) != 1 or not known or count % known:
        return size
    return [count // known if n == -1 else n for n in size]


@batching_rule("_reshape_alias")
def reshape_alias(batch: Batch, self: Lanes, size: Sequence[int], stride: Sequence[int]) -> Any:
    front = self.front()
    return batch.overload.call(front, [batch.size, *size], [front.stride(0), *stride])


@batching_rule("view.dtype")
def view_dtype(batch: Batch, self: Lanes, dtype: Any) -> Any:
    if not self.rank and dtype.itemsize != self.value.dtype.itemsize:
        batch.overload.call(one_lane(self), dtype)
    return batch.overload.call(self.front(), dtype)


@batching_rule("view_as_complex")
def view_as_complex(batch: Batch, self: Lanes) -> Any:
    if not self.rank:
        batch.overload.call(one_lane(self))
    return batch.overload.call(self.front())


@batching_rule("squeeze")
def squeeze(batch: Batch, self: Lanes) -> Any:
    return self.front().squeeze([i + 1 for i, n in enumerate(self.shape) if n == 1])


@batching_rule("squeeze.dim")
def squeeze_dim(batch: Batch, self: Lanes, dim: int) -> Any:
    if not self.rank:
        return _of_number(self, [dim])
    return self.front().squeeze(behind(dim, self.rank))


def _of_number(self: Lanes, dims: Sequence[int]) -> Any:
    """A tensor without dimensions, none of which is taken away; of all dimensions but 0 PyTorch says that is none."""
    if list(dims) not in ([], [0]):
        raise RuntimeError(f"Dimension is out of range (expected to be in range of [-1, 0], but got {list(dims)}")
    return _alias(self.front())


@batching_rule("squeeze.dims")
def squeeze_dims(batch: Batch, self: Lanes, dim: Sequence[int]) -> Any:
    if not self.rank:
        return _of_number(self, dim)
    return self.front().squeeze([behind(d, self.rank) for d in dim])


@batching_rule("unsqueeze")
def unsqueeze(batch: Batch, self: Lanes, dim: int) -> Any:
    return self.front().unsqueeze(behind(dim, self.rank + 1))


# Parts


@batching_rule("select.int", "slice.Tensor", "unbind.int")
def along_first_argument(batch: Batch, self: Lanes, dim: int = 0, *rest: Any) -> Any:
    if not self.rank:
        batch.overload.call(one_lane(self), dim, *rest)
    return batch.overload.call(self.front(), behind(dim, self.rank), *rest)


@batching_rule("split.Tensor", "split_with_sizes", "unsafe_split.Tensor", "unsafe_split_with_sizes")
def split(batch: Batch, self: Lanes, sizes: Any, dim: int = 0) -> Any:
    if not self.rank:
        batch.overload.call(one_lane(self), sizes, dim)
    return batch.overload.call(self.front(), sizes, behind(dim, self.rank))


@batching_rule("narrow.Tensor")
def narrow(batch: Batch, self: Lanes, dim: int, start: Lanes, length: int) -> Any:
    """Where each lane begins elsewhere, there is no view of all."""
    if start.dim is not None:
        raise RuntimeError(
            f"Batching rule not implemented for {batch.overload.qualified_name}; the fallback path doesn't work on "
            "out= or view ops."
        )
    return NotImplemented


@batching_rule("diagonal")
def diagonal(batch: Batch, self: Lanes, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return batch.overload.call(self.front(), offset, behind(dim1, self.rank), behind(dim2, self.rank))


@batching_rule("unfold")
def unfold(batch: Batch, self: Lanes, dimension: int, size: int, step: int) -> Any:
    """Of a number there is one window, which is the only dimension of the result."""
    at = behind(dimension, self.rank)
    if self.rank:
        return self.front().unfold(at, size, step)
    return self.front().unsqueeze(1).unfold(1, size, step).select(1, 0)


@batching_rule("as_strided")
def as_strided(
    batch: Batch, self: Lanes, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    """Sizes, strides and offset are those of the first lane; the others lie behind it as they do in the tensor."""
    assert self.dim is not None
    steps = [self.value.stride(self.dim), *stride]
    offset = self.value.storage_offset() if storage_offset is None else storage_offset
    return self.value.as_strided([batch.size, *size], steps, offset)


# Several tensors and copies


@batching_rule("cat")
def cat(batch: Batch, tensors: Sequence[Lanes], dim: int = 0) -> Any:
    """A tensor of shape (0,) is passed over, whatever number of dimensions the others have."""
    counted = [lanes for lanes in tensors if lanes.shape != (0,)] or tensors
    if any(lanes.rank != counted[0].rank or not lanes.rank for lanes in counted):
        batch.overload.call([one_lane(lanes) for lanes in tensors], dim)
    made = batch.overload.call([lanes.spread(batch.size) for lanes in counted], behind(dim, counted[0].rank))
    return made.to(result_type_of(lanes.value for lanes in tensors))


@batching_rule("stack")
def stack(batch: Batch, tensors: Sequence[Lanes], dim: int = 0) -> Any:
    at = behind(dim, tensors[0].rank + 1)
    if any(lanes.shape != tensors[0].shape for lanes in tensors):
        batch.overload.call([one_lane(lanes) for lanes in tensors], dim)
    return batch.overload.call([lanes.spread(batch.size) for lanes in tensors], at)


@batching_rule("_block_diag")
def block_diag(batch: Batch, tensors: Sequence[Lanes]) -> Any:
    """Each matrix between zeros, one below another."""
    if any(lanes.rank > 2 for lanes in tensors):
        batch.overload.call([one_lane(lanes) for lanes in tensors])
    dtype = result_type_of(lanes.value for lanes in tensors)
    matrices = [lanes.spread(batch.size).reshape(batch.size, *_as_matrix(lanes.shape)).to(dtype) for lanes in tensors]
    width, left, rows = sum(m.shape[-1] for m in matrices), 0, []
    for matrix in matrices:
        padded = ops.constant_pad_nd(matrix, (left, width - left - matrix.shape[-1]))
        rows.append(padded)
        left += matrix.shape[-1]
    return ops.cat(rows, 1)


def _as_matrix(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1,) * (2 - len(shape)) + shape


@batching_rule("repeat")
def repeat(batch: Batch, self: Lanes, repeats: Sequence[int]) -> Any:
    if len(repeats) < self.rank:
        batch.overload.call(one_lane(self), repeats)
    return self.at_rank(len(repeats)).repeat([1, *repeats])


@batching_rule("flip")
def flip(batch: Batch, self: Lanes, dims: Sequence[int]) -> Any:
    at = [behind(dim, self.rank) for dim in dims]
    return self.front().flip(at if self.rank else [])


@batching_rule("roll")
def roll(batch: Batch, self: Lanes, shifts: Sequence[int], dims: Sequence[int] = ()) -> Any:
    """Without dimensions, the elements are rolled as one row."""
    if len(dims) != len(shifts) and (dims or len(shifts) != 1):
        batch.overload.call(one_lane(self), shifts, dims)
    if not dims:
        return self.front().flatten(1).roll(shifts, 1).view(batch.size, *self.shape) if self.rank else self.front()
    return self.front().roll(shifts, [behind(dim, self.rank) for dim in dims]) if self.rank else self.front().clone()


@batching_rule("constant_pad_nd")
def constant_pad_nd(batch: Batch, self: Lanes, pad: Sequence[int], value: Any = 0) -> Any:
    if len(pad) % 2 or len(pad) > 2 * self.rank:
        batch.overload.call(one_lane(self), pad, value)
    return batch.overload.call(self.front(), pad, value)


# Padding by neighbours


def _pads(names: str, dims: int) -> None:
    """Padding of the last `dims` dimensions, with one or two before them; what stands before these is made one."""

    def rule(batch: Batch, *args: Any) -> Any:
        tensors = [a for a in args if isinstance(a, Lanes)]
        if any(lanes.rank not in (dims + 1, dims + 2) for lanes in tensors):
            batch.overload.call(*(one_lane(a) if isinstance(a, Lanes) else a for a in args))
        if tensors[0].rank == dims + 1:
            return batch.overload.call(*(a.spread(batch.size) if isinstance(a, Lanes) else a for a in args))
        merged = [a.spread(batch.size).flatten(0, 1) if isinstance(a, Lanes) else a for a in args]
        return batch.overload.call(*merged).unflatten(0, (batch.size, tensors[0].shape[0]))

    batching_rule(*names.split())(rule)


for _n in (1, 2, 3):
    for _mode in ("reflection", "replication"):
        _pads(f"{_mode}_pad{_n}d {_mode}_pad{_n}d_backward", _n)
