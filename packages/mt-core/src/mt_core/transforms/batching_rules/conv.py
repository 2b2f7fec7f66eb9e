"""Batching rules: convolutions. Lanes become samples, channels or groups, by which arguments they share."""

from __future__ import annotations

from typing import Any

from ...dispatch.registry import find_overload
from ..batched import Lanes
from ._lanes import folded, is_shared, over_samples, refuse_as_lane, unfolded
from ._rules import Batch, batching_rule

over_samples("im2col", inner=3, single=True)
over_samples("col2im", inner=2, single=True)

#: stride, padding, dilation, transposed, output_padding, groups
Options = tuple[Any, ...]


@batching_rule("convolution")
def convolution(batch: Batch, input: Lanes, weight: Lanes, bias: Lanes | None, *options: Any) -> Any:
    args = input, weight, bias, *options
    if input.rank < 3 or weight.rank != input.rank:
        refuse_as_lane(batch, args)
    if is_shared(weight, bias):
        made = _convolved(folded(input, batch.size), weight.value, None if bias is None else bias.value, options)
        return unfolded(made, batch.size, input.shape[0])
    if bias is not None and (bias.value._dtype is not weight.value._dtype or bias.rank != 1):
        refuse_as_lane(batch, args)
    made = _without_bias(batch, input, weight, options)
    if bias is None:
        return made
    value = bias.front()
    return made + value.reshape((*value.shape[:-1], *([1] * (bias.dim is not None)), -1, *[1] * (input.rank - 2)))


def _without_bias(batch: Batch, input: Lanes, weight: Lanes, options: Options) -> Any:
    """(B, N, O, *); (N, O, *) where all lanes share input and weights."""
    if is_shared(input, weight):
        return _convolved(input.value, weight.value, None, options)
    if weight.dim is None:
        return unfolded(_convolved(folded(input, batch.size), weight.value, None, options), batch.size, input.shape[0])
    return _by_channels(batch, input, weight, options) if input.dim is None else _by_groups(input, weight, options)


def _convolved(input: Any, weight: Any, bias: Any, options: Options) -> Any:
    return find_overload("convolution").call(input, weight, bias, *options)


def _by_channels(batch: Batch, input: Lanes, weight: Lanes, options: Options) -> Any:
    """One input, weights of each lane: the results of lanes lie side by side within each group of channels."""
    size, groups, transposed = batch.size, options[-1], options[3]
    value = weight.front()
    if transposed:
        _, channels, outputs, *kernel = value.shape
        joined = value.transpose(0, 1).reshape((channels, size * outputs, *kernel))
    else:
        _, outputs, channels, *kernel = value.shape
        outputs //= groups
        joined = value.reshape((size, groups, outputs, channels, *kernel)).transpose(0, 1)
        joined = joined.reshape((groups * size * outputs, channels, *kernel))
    made = _convolved(input.value, joined, None, options)
    count, _, *spatial = made.shape
    made = made.reshape((count, groups, size, outputs, *spatial)).movedim(2, 0)
    return made.reshape((size, count, groups * outputs, *spatial))


def _by_groups(input: Lanes, weight: Lanes, options: Options) -> Any:
    """Inputs and weights of each lane: every lane is a group of channels."""
    value, filters = input.front(), weight.front()
    size, count, channels, *spatial = value.shape
    joined = value.transpose(0, 1).reshape((count, size * channels, *spatial))
    made = _convolved(
        joined,
        filters.reshape((size * filters.shape[1], *filters.shape[2:])),
        None,
        (*options[:-1], size * options[-1]),
    )
    return made.reshape((count, size, made.shape[1] // max(size, 1), *made.shape[2:])).transpose(0, 1)
