"""Batching rules: normalization, and distances of rows."""

from __future__ import annotations

from typing import Any

from ..batched import Lanes
from ._lanes import folded, is_shared, refuse_as_lane, unfolded
from ._rules import Batch, batching_rule


@batching_rule("native_layer_norm")
def native_layer_norm(
    batch: Batch, input: Lanes, normalized_shape: Any, weight: Lanes | None, bias: Lanes | None, eps: float
) -> Any:
    if not is_shared(weight, bias) or input.rank < len(normalized_shape):
        return NotImplemented
    return batch.overload.call(input.front(), normalized_shape, _value(weight), _value(bias), eps)


def _value(lanes: Lanes | None) -> Any:
    return None if lanes is None else lanes.value


@batching_rule("native_group_norm")
def native_group_norm(
    batch: Batch, input: Lanes, weight: Lanes | None, bias: Lanes | None, N: int, C: int, HxW: int, group: int,
    eps: float,
) -> Any:  # fmt: skip
    if not is_shared(weight, bias):
        return NotImplemented
    made = batch.overload.call(
        folded(input, batch.size), _value(weight), _value(bias), batch.size * N, C, HxW, group, eps
    )
    return unfolded(made, batch.size, N)


# Batch normalization: channels of lanes are channels


def _channels(lanes: Lanes, size: int) -> Any:
    """(B, N, C, *) as (N, B C, *)."""
    value = lanes.spread(size).transpose(0, 1)
    count, _, channels, *spatial = value.shape
    return value.reshape((count, size * channels, *spatial))


def _lanes_of_channels(value: Any, size: int) -> Any:
    """(N, B C, *) as (B, N, C, *)."""
    count, channels, *spatial = value.shape
    return value.reshape((count, size, channels // max(size, 1), *spatial)).transpose(0, 1)


def _of_channels(lanes: Lanes | None, size: int) -> Any:
    """(B, C) as (B C,)."""
    return None if lanes is None else lanes.spread(size).reshape(-1)


def _per_lane(value: Any, size: int) -> Any:
    """(B C,) as (B, C)."""
    return None if value is None else value.reshape((size, value.shape[0] // max(size, 1)))


@batching_rule("_batch_norm")
def batch_norm_of_statistics(
    batch: Batch, input: Lanes, weight: Lanes | None, bias: Lanes | None, mean: Lanes | None, variance: Lanes | None,
    eps: float,
) -> Any:  # fmt: skip
    if input.rank < 2:
        refuse_as_lane(batch, (input, weight, bias, mean, variance, eps))
    parameters = [_of_channels(lanes, batch.size) for lanes in (weight, bias, mean, variance)]
    result, *statistics = batch.overload.call(_channels(input, batch.size), *parameters, eps)
    return _lanes_of_channels(result, batch.size), *(_per_lane(value, batch.size) for value in statistics)


@batching_rule("_batch_norm_backward")
def batch_norm_backward(
    batch: Batch, grad_out: Lanes, input: Lanes, weight: Lanes | None, mean: Lanes, rstd: Lanes, training: bool,
    output_mask: Any,
) -> Any:  # fmt: skip
    size = batch.size
    parameters = [_of_channels(lanes, size) for lanes in (weight, mean, rstd)]
    result, *of_parameters = batch.overload.call(
        _channels(grad_out, size), _channels(input, size), *parameters, training, output_mask
    )
    first = None if result is None else _lanes_of_channels(result, size)
    return first, *(_per_lane(value, size) for value in of_parameters)


@batching_rule("batch_norm", "native_batch_norm")
def check_running(batch: Batch, input: Lanes, weight: Any, bias: Any, mean: Any, var: Any, *options: Any) -> Any:
    """Refuse to move running statistics that all lanes share by what differs between lanes.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    training = options[0]
    if training and input.dim is not None and any(kept is not None and kept.dim is None for kept in (mean, var)):
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in "
            "place, were not batched.\nPlease see https://pytorch.org/functorch/stable/batch_norm.html for options to "
            "fix this"
        )
    return NotImplemented


@batching_rule("_cdist_forward")
def cdist_forward(batch: Batch, x1: Lanes, x2: Lanes, p: float, compute_mode: Any) -> Any:
    rank = max(x1.rank, x2.rank)
    if min(x1.rank, x2.rank) < 2:
        refuse_as_lane(batch, (x1, x2, p, compute_mode))
    return batch.overload.call(x1.at_rank(rank), x2.at_rank(rank), p, compute_mode)
