"""Batching rules: normalization, and distances of rows."""

from __future__ import annotations

from typing import Any

from ..batched import Lanes
from ._lanes import folded, is_shared, refuse_as_lane, unfolded
from ._rules import Batch, batching_rule


def _value(lanes: Lanes | None) -> Any:
    return None if lanes is None else lanes.value


def _lead(lanes: Lanes) -> int | None:
    return None if lanes.dim is None else 0


@batching_rule("native_layer_norm")
def native_layer_norm(
    batch: Batch, input: Lanes, normalized_shape: Any, weight: Lanes | None, bias: Lanes | None, eps: float
) -> Any:
    args = input, normalized_shape, weight, bias, eps
    fitting = all(p is None or p.shape == tuple(normalized_shape) for p in (weight, bias))
    if input.rank < len(normalized_shape) or not fitting:
        refuse_as_lane(batch, args)
    if is_shared(weight, bias):
        return batch.overload.call(input.front(), normalized_shape, _value(weight), _value(bias), eps)
    result, *statistics = batch.overload.call(input.front(), normalized_shape, None, None, eps)
    factor, summand = (None if p is None else p.at_rank(input.rank) for p in (weight, bias))
    return _affine(result, factor, summand), *(Lanes(value, _lead(input)) for value in statistics)


def _affine(normalized: Any, factor: Any, summand: Any) -> Any:
    made = normalized if factor is None else normalized * factor
    return (made if summand is None else made + summand).to(normalized._dtype)


@batching_rule("native_layer_norm_backward")
def native_layer_norm_backward(
    batch: Batch, grad_out: Lanes, input: Lanes, normalized_shape: Any, mean: Lanes, rstd: Lanes, weight: Lanes | None,
    bias: Lanes | None, output_mask: Any,
) -> Any:  # fmt: skip
    grad, x, used, scale = (lanes.spread(batch.size) for lanes in (grad_out, input, mean, rstd))
    weighted = grad if weight is None else grad * weight.at_rank(input.rank)
    lead = tuple(range(1, 1 + input.rank - len(normalized_shape)))
    made: list[Any] = [None, None, None]
    if output_mask[0]:
        made[0] = batch.overload.call(weighted, x, normalized_shape, used, scale, None, None, [True, False, False])[0]
    if output_mask[1]:
        made[1] = _summed(grad * ((x - used) * scale), lead)
    if output_mask[2]:
        made[2] = _summed(grad, lead)
    return tuple(made)


def _summed(value: Any, dims: tuple[int, ...]) -> Any:
    return value.sum(dims) if dims else value


def _along_channels(lanes: Lanes | None, rank: int) -> Any:
    """(C,) as (B, 1, C, 1, ...) or (C, 1, ...): lined up with the channels of (B, N, C, *)."""
    if lanes is None:
        return None
    value = lanes.front()
    behind = [1] * (rank - 2)
    return value.reshape((-1, *behind) if lanes.dim is None else (value.shape[0], 1, -1, *behind))


@batching_rule("native_group_norm")
def native_group_norm(
    batch: Batch, input: Lanes, weight: Lanes | None, bias: Lanes | None, N: int, C: int, HxW: int, group: int,
    eps: float,
) -> Any:  # fmt: skip
    sizes = batch.size * N, C, HxW, group, eps
    if is_shared(weight, bias):
        made = batch.overload.call(folded(input, batch.size), _value(weight), _value(bias), *sizes)
        return unfolded(made, batch.size, N)
    result, mean, rstd = unfolded(batch.overload.call(folded(input, batch.size), None, None, *sizes), batch.size, N)
    return _affine(result, _along_channels(weight, input.rank), _along_channels(bias, input.rank)), mean, rstd


@batching_rule("native_group_norm_backward")
def native_group_norm_backward(
    batch: Batch, grad_out: Lanes, input: Lanes, mean: Lanes, rstd: Lanes, weight: Lanes | None, N: int, C: int,
    HxW: int, group: int, output_mask: Any,
) -> Any:  # fmt: skip
    size, dims = batch.size, (1, *range(3, input.rank + 1))
    grad, x = grad_out.spread(size), input.spread(size)
    made: list[Any] = [None, None, None]
    if output_mask[0]:
        weighted = grad if weight is None else grad * _along_channels(weight, input.rank)
        statistics = [folded(lanes, size) for lanes in (Lanes(weighted, 0), input, mean, rstd)]
        result = batch.overload.call(*statistics, None, size * N, C, HxW, group, [True, False, False])[0]
        made[0] = unfolded(result, size, N)
    if output_mask[1]:
        groups = x.reshape((size, N, group, C // max(group, 1) * HxW))
        normalized = (groups - mean.spread(size).unsqueeze(-1)) * rstd.spread(size).unsqueeze(-1)
        made[1] = (grad * normalized.reshape(x.shape)).sum(dims)
    if output_mask[2]:
        made[2] = grad.sum(dims)
    return tuple(made)


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
