"""Making and copying tensors: batching rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from ...dispatch.memory import is_dense
from ...formats import channels_last, channels_last_3d, contiguous_format, preserve_format
from ...tensor import Tensor
from ..batched import DEPENDENT, Lanes
from ._rules import LOOPED, Batch, batching_rule, one_lane, trailing

#: The ends are read from tensors.
LOOPED.update(f"{space}.{ends}" for space in ("linspace", "logspace") for ends in (
    "Scalar_Tensor", "Tensor_Scalar", "Tensor_Tensor"))  # fmt: skip
#: Elements are taken in the order in which each lane has them in memory.
LOOPED.add("resize")

# Tensors like another


@batching_rule("clone")
def clone(batch: Batch, self: Lanes, memory_format: Any = None) -> Any:
    """Raises RuntimeError for formats of all dimensions, as PyTorch does."""
    if memory_format not in (None, preserve_format, contiguous_format):
        raise RuntimeError(
            "NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format torch.preserve_format "
            f"or torch.contiguous_format (got {_spelt(memory_format)})"
        )
    return batch.overload.call(self.front(), memory_format)


def _spelt(wanted: Any) -> str:
    return {channels_last: "ChannelsLast", channels_last_3d: "ChannelsLast3d"}[wanted]


@batching_rule("empty_like", "zeros_like", "ones_like")
def like(batch: Batch, self: Lanes, *rest: Any) -> Any:
    *options, memory_format = rest
    return _with_lanes_in(memory_format, batch.overload.call(self.front(), *options, _of_all(memory_format)))


@batching_rule("full_like", "_to_copy")
def like_with_arguments(batch: Batch, self: Lanes, *rest: Any) -> Any:
    return like(batch, self, *rest)


def _of_all(memory_format: Any) -> Any:
    return None if memory_format in (channels_last, channels_last_3d) else memory_format


def _with_lanes_in(memory_format: Any, made: Tensor) -> Tensor:
    """A tensor whose lanes have their channels last, where that is asked for."""
    if memory_format not in (channels_last, channels_last_3d):
        return made
    return made.movedim(2, -1).contiguous().movedim(-1, 2)


@batching_rule("new_empty", "new_zeros", "new_ones", "new_full")
def new(batch: Batch, self: Lanes, size: Sequence[int], *rest: Any) -> Any:
    return batch.overload.call(self.value, [batch.size, *size], *rest)


@batching_rule("new_empty_strided")
def new_empty_strided(batch: Batch, self: Lanes, size: Sequence[int], stride: Sequence[int], *rest: Any) -> Any:
    """The lanes one after another, each as far as its strides reach."""
    reach = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) if math.prod(size) else 0
    return batch.overload.call(self.value, [batch.size, *size], [reach, *stride], *rest)


# Writing


@batching_rule("copy_")
def copy_(batch: Batch, self: Lanes, src: Lanes, non_blocking: bool = False) -> None:
    if src.rank > self.rank:
        one_lane(self).copy_(one_lane(src))
    self.front().copy_(src.at_rank(self.rank), non_blocking)


@batching_rule("fill_.Scalar", "zero_")
def fill_all_(batch: Batch, self: Lanes, *value: Any) -> None:
    batch.overload.call(self.value, *value)


@batching_rule("fill_.Tensor")
def fill_tensor_(batch: Batch, self: Lanes, value: Lanes) -> None:
    if value.rank:
        batch.overload.call(one_lane(self), one_lane(value))
    self.front().copy_(value.at_rank(self.rank))


@batching_rule("copy")
def copy(batch: Batch, self: Lanes, src: Lanes, non_blocking: bool = False) -> Any:
    if src.rank > self.rank:
        batch.overload.call(one_lane(self), one_lane(src), non_blocking)
    whole = self.spread(batch.size)
    # What all lanes share is spread over one memory, which the copy is not to be laid out as.
    whole = whole if is_dense(whole) else whole.clone()
    return batch.overload.call(whole, src.at_rank(self.rank), non_blocking)


@batching_rule("fill.Tensor")
def fill_tensor(batch: Batch, self: Lanes, value: Lanes) -> Any:
    if value.rank:
        batch.overload.call(one_lane(self), one_lane(value))
    return value.at_rank(self.rank).to(self.value.dtype).expand(batch.size, *self.shape).clone()


trailing("tril", "triu", rank=2)


@batching_rule("_local_scalar_dense")
def item(batch: Batch, self: Lanes) -> NoReturn:
    raise RuntimeError(DEPENDENT["item"])
