"""Normalization written in other operators."""

from __future__ import annotations

import math
from typing import Any

from ..api import _functions as ops
from ..autograd_state import is_grad_enabled, no_grad
from ..deprecation import warn_once
from ..dispatch.registry import overload
from ..dispatch.registry import register_composite as composite
from ..dtypes import cpp_type_name, finfo, scalar_type_name, uint8
from ..keys import AUTOGRAD, OF_TRANSFORM
from ..layout import suggested_format
from ..shape_rules.norm import check_groups, check_normalized, check_parameter_types
from ..state import tls
from ..tensor_autograd import unversioned

Ints = tuple[int, ...]

_native_layer_norm = overload("native_layer_norm", "norm").cache


@composite("layer_norm")
def layer_norm(input: Any, normalized_shape: Ints, weight: Any, bias: Any, eps: float, cudnn_enable: bool) -> Any:
    """input (*L, *S), weight (*S), bias (*S) -> (*L, *S)."""
    keys = input._keys | tls.mode
    for parameter in (weight, bias):
        if parameter is not None:
            keys |= parameter._keys
    return _native_layer_norm[keys](input, normalized_shape, weight, bias, eps)[0]


@composite("rms_norm")
def rms_norm(input: Any, normalized_shape: Ints, weight: Any, eps: float | None) -> Any:
    """input (*L, *S), weight (*S) -> (*L, *S)."""
    rank = input._array.ndim
    if rank < len(normalized_shape):
        raise ValueError(f"Input tensor must have at least {len(normalized_shape)} dimensions, but got {rank}")
    check_normalized(input, normalized_shape, weight, None, "*")
    if weight is not None and weight._dtype is not input._dtype:
        warn_once(
            f"Mismatch dtype between input and weight: input dtype = {cpp_type_name(input._dtype)}, weight dtype = "
            f"{cpp_type_name(weight._dtype)}, Cannot dispatch to fused implementation."
        )
    return fused_rms_norm(input, normalized_shape, weight, eps)[0]


@composite("_fused_rms_norm")
def fused_rms_norm(input: Any, normalized_shape: Ints, weight: Any, eps: float | None) -> tuple[Any, Any]:
    """input (*L, *S), weight (*S) -> result (*L, *S), 1 / root mean square (*L, 1 for each of S)."""
    d = input._dtype
    if not (d.is_floating_point or d.is_complex) or d.itemsize == 1:
        raise NotImplementedError(f"\"rms_norm\" not implemented for '{scalar_type_name(d)}'")
    dims = tuple(range(-len(normalized_shape), 0))
    wide = input.to(d.compute) if d.compute is not d else input
    epsilon = finfo(d.compute).eps if eps is None else eps
    rstd = (wide.pow(2).mean(dims, keepdim=True) + epsilon).rsqrt()
    scaled = wide * rstd
    if weight is not None:
        scaled = scaled * weight
    scaled = scaled.contiguous()
    return scaled if scaled._dtype is d else scaled.to(d), rstd


def _affine(normalized: Any, weight: Any, bias: Any, shape: Ints) -> Any:
    """normalized * weight + bias, the parameters read along the channel dimension."""
    if weight is not None:
        normalized = normalized * weight.view(shape)
    if bias is not None:
        normalized = normalized + bias.view(shape)
    return normalized


@composite("native_group_norm", explicit=True)
def native_group_norm(
    input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Any, Any, Any]:
    """input (N, C, *), weight (C,), bias (C,) -> result (N, C, *), mean (N, G), 1/deviation (N, G)."""
    shape = input._array.shape
    groups = _grouped(input, N, C, HxW, group)
    variance = ops.var(groups, (2,), correction=0)
    mean = groups.mean((2,))
    rstd = (variance + eps).rsqrt()
    normalized = ((groups - mean.unsqueeze(2)) * rstd.unsqueeze(2)).reshape(shape)
    return _affine(normalized, weight, bias, (1, C, *([1] * (len(shape) - 2)))), mean, rstd


def _grouped(input: Any, n: int, channels: int, area: int, group: int) -> Any:
    """(N, C, *) as (N, G, elements of a group)."""
    return input.reshape((n, group, channels // max(group, 1) * area))


@composite("native_group_norm_backward", explicit=True)
def native_group_norm_backward(
    grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int, HxW: int, group: int, output_mask: Any
) -> tuple[Any, Any, Any]:
    """grad_out and input (N, C, *), mean and rstd (N, G), weight (C,) -> gradients of input, weight (C,), bias (C,)."""
    along = (1, C, *([1] * (input.dim() - 2)))
    inner = mean.unsqueeze(2), rstd.unsqueeze(2)
    normalized = (_grouped(input, N, C, HxW, group) - inner[0]) * inner[1]
    weighted = _grouped(grad_out if weight is None else grad_out * weight.view(along), N, C, HxW, group)
    level, slope = weighted.mean((2,), keepdim=True), (weighted * normalized).mean((2,), keepdim=True)
    grad_input = ((weighted - level - normalized * slope) * inner[1]).reshape(input.shape)
    dims = (0, *range(2, input.dim()))
    grad_weight = (grad_out * normalized.reshape(input.shape)).sum(dims)
    gradients = grad_input, grad_weight, grad_out.sum(dims)
    return tuple([g if wanted else None for g, wanted in zip(gradients, output_mask, strict=True)])  # type: ignore[return-value]


@composite("group_norm")
def group_norm(input: Any, num_groups: int, weight: Any, bias: Any, eps: float, cudnn_enabled: bool) -> Any:
    """input (N, C, *), weight (C,), bias (C,) -> (N, C, *)."""
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    n, channels = shape[:2]
    check_groups(input, weight, bias, num_groups)
    check_parameter_types(input._dtype, weight, bias)
    wanted = suggested_format(input)
    input = input.contiguous() if wanted is None else input.contiguous(memory_format=wanted)
    return ops.native_group_norm(input, weight, bias, n, channels, math.prod(shape[2:]), num_groups, eps)[0]


def _check_channels(channels: int, **parameters: Any) -> None:
    for name, parameter in parameters.items():
        if parameter is not None and parameter.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {parameter.numel()}")


@composite("native_batch_norm")
def native_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> tuple[Any, Any, Any]:
    """input (N, C, *), all others (C,) -> result (N, C, *), mean (C,), 1/deviation (C,)."""
    _refuse_gradients(running_mean=running_mean, running_var=running_var)
    shape = input._array.shape
    if len(shape) < 2 and not (training and input.numel()):
        _check_channels(0, running_mean=running_mean, running_var=running_var)
        return input.clone(), input.new_empty((0,)), input.new_empty((0,))
    if len(shape) < 2:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [-{len(shape)}, {len(shape) - 1}], but got 1)"
        )
    if input._dtype.is_floating_point:  # the rule of `_batch_norm` refuses others
        check_parameter_types(input._dtype, weight, bias, running_mean, running_var)
    if not training:
        if running_mean is None or running_var is None:
            if not input.numel():
                return input.clone(), input.new_empty((0,)), input.new_empty((0,))
            _require_running(running_mean, running_var)
        result, mean, variance, _ = ops._batch_norm(input, weight, bias, running_mean, running_var, eps)
        return result, *_as_kept(input, (weight, bias, running_mean, running_var), mean, variance)
    result, mean, variance, rstd = ops._batch_norm(input, weight, bias, None, None, eps)
    if running_mean is not None or running_var is not None:
        _update_running(running_mean, running_var, mean, variance, input.numel() // max(shape[1], 1), momentum)
    return result, *_as_kept(input, (weight, bias, running_mean, running_var), mean, rstd)


def _refuse_gradients(**statistics: Any) -> None:
    for name, running in statistics.items():
        if running is not None and running._keys & AUTOGRAD and is_grad_enabled():
            raise RuntimeError(
                f"The function 'native_batch_norm' is not differentiable with respect to argument '{name}'. This input "
                "cannot have requires_grad True."
            )


def _as_kept(input: Any, parameters: tuple[Any, ...], *statistics: Any) -> tuple[Any, ...]:
    """Statistics in the dtype that they are returned in: the parameters', which may be wider than the input's."""
    kept = next((p._dtype for p in parameters if p is not None), input._dtype)
    return tuple([s if s._dtype is kept else s.to(kept) for s in statistics])


@composite("_batch_norm", explicit=True)
def _batch_norm(input: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float) -> tuple[Any, Any, Any, Any]:
    shape, d = input._array.shape, input._dtype
    along = (1, shape[1], *([1] * (len(shape) - 2)))
    wide = input.to(d.compute)
    given = mean is not None
    if not given:
        dims = (0, *range(2, len(shape)))
        mean, variance = wide.mean(dims), ops.var(wide, dims, correction=0)
    rstd = (variance + eps).rsqrt()
    result = _affine((wide - mean.view(along)) * rstd.view(along), weight, bias, along).to(d)
    return (result, input.new_empty((0,)), input.new_empty((0,)), rstd) if given else (result, mean, variance, rstd)


@composite("_batch_norm_backward", explicit=True)
def batch_norm_backward(
    grad_out: Any, input: Any, weight: Any, mean: Any, rstd: Any, training: bool, output_mask: Any
) -> tuple[Any, Any, Any]:
    shape = input._array.shape
    along, dims = (1, shape[1], *([1] * (len(shape) - 2))), (0, *range(2, len(shape)))
    d = input._dtype
    input, grad_out = input.to(d.compute), grad_out.to(d.compute)
    normalized = (input - mean.view(along)) * rstd.view(along)
    grad_weight, grad_bias = (grad_out * normalized).sum(dims), grad_out.sum(dims)
    scale = rstd if weight is None else rstd * weight
    result = grad_out
    if training:
        count = input.numel() // max(shape[1], 1)
        result = result - (grad_bias / count).view(along) - normalized * (grad_weight / count).view(along)
    gradients = (result * scale.view(along)).to(d), grad_weight, grad_bias
    return tuple([g if wanted else None for g, wanted in zip(gradients, output_mask, strict=True)])  # type: ignore[return-value]


def _update_running(running_mean: Any, running_var: Any, mean: Any, variance: Any, count: int, momentum: float) -> None:
    """Move the running statistics towards the batch's; the variance enters unbiased. An empty batch has none."""
    if not count:
        return
    with no_grad():
        if running_mean is not None:
            _move(running_mean, mean.detach(), momentum)
        if running_var is not None:
            _move(running_var, variance.detach() * (count / (count - 1) if count > 1 else float("nan")), momentum)


def _move(running: Any, batch: Any, momentum: float) -> None:
    """running (C,) of any dtype moves towards batch (C,), in place; half types round once, at the end."""
    # PyTorch does not count these writes as versions; inside of transforms it refuses `data`, and writes all the same
    d, written = running.dtype, unversioned(running) if running._keys & OF_TRANSFORM else running.data
    if d.compute is d:
        written.mul_(1 - momentum).add_(batch.to(d), alpha=momentum)
    else:
        written.copy_(running.to(d.compute) * (1 - momentum) + batch.to(d.compute) * momentum)


@composite("batch_norm_update_stats", explicit=True)
def batch_norm_update_stats(input: Any, running_mean: Any, running_var: Any, momentum: float) -> tuple[Any, Any]:
    """input (N, C, *) -> mean and biased variance (C,), towards which running statistics (C,) move in place."""
    shape = input._array.shape
    if not input.numel():
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(shape)}")
    check_parameter_types(input._dtype, running_mean, running_var)
    dims, wide = (0, *range(2, len(shape))), input.to(input._dtype.compute)
    mean, variance = wide.mean(dims), ops.var(wide, dims, correction=0)
    _update_running(running_mean, running_var, mean, variance, input.numel() // shape[1], momentum)
    mean, variance = _as_kept(input, (running_mean, running_var), mean, variance)
    return mean, variance


def _require_running(running_mean: Any, running_var: Any) -> None:
    for name, running in (("running_mean", running_mean), ("running_var", running_var)):
        if running is None:
            raise RuntimeError(f"{name} must be defined in evaluation mode")


def _of_nothing(input: Any, weight: Any, bias: Any) -> Any:
    """Without elements nothing is looked at but the first factor and summand, which belong to the history."""
    result = input.clone()
    if weight is not None:
        result = result * weight.select(0, 0)
    return result if bias is None else result + bias.select(0, 0)


@composite("batch_norm")
def batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:  # fmt: skip
    """input (N, C, *), all others (C,) -> (N, C, *); running statistics are brought up to date in place."""
    if (running_mean is None) != (running_var is None) and training:
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    shape = input._array.shape
    if not input.numel():
        return _of_nothing(input, weight, bias)
    channels = shape[1] if len(shape) > 1 else 0
    _check_channels(channels, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    if not training:
        _require_running(running_mean, running_var)
    return ops.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


@composite("instance_norm")
def instance_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, use_input_stats: bool, momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:  # fmt: skip
    """input (N, C, *), all others (C,) -> (N, C, *); running statistics are brought up to date in place."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    n, channels = input.size(0), input.size(1)
    like = input if weight is None and bias is None else weight if weight is not None else bias
    kept = [running_mean, running_var]
    if running_mean is not None and running_mean._dtype is not like._dtype:  # of the variance alone it is refused
        kept = [None if p is None else p.to(like._dtype) for p in kept]
    repeated: list[Any] = [None if p is None else p.repeat(n) for p in (weight, bias, *kept)]
    flat = input.contiguous().view((1, n * channels, *input._array.shape[2:]))
    result = ops.batch_norm(
        flat, repeated[0], repeated[1], repeated[2], repeated[3], use_input_stats, momentum, eps, cudnn_enabled
    )
    with no_grad():
        for running, used in ((running_mean, repeated[2]), (running_var, repeated[3])):
            if running is not None and use_input_stats:
                running.copy_(used.view((n, channels)).mean((0,)))
    return result.view(input._array.shape)


@composite("_native_batch_norm_legit")
def native_batch_norm_legit(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> tuple[Any, Any, Any]:
    """input (N, C, *), all others (C,) -> result (N, C, *), mean (C,), 1/deviation (C,)."""
    return ops.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@composite("_native_batch_norm_legit.no_stats")
def native_batch_norm_without_statistics(
    input: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> tuple[Any, Any, Any]:
    """As `native_batch_norm_legit`."""
    return ops.native_batch_norm(input, weight, bias, None, None, training, momentum, eps)


@composite("_native_batch_norm_legit_no_training")
def native_batch_norm_in_evaluation(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float, eps: float
) -> tuple[Any, Any, Any]:
    """input (N, C, *), all others (C,) -> result (N, C, *), and two without elements."""
    return ops.native_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)


@composite("_batch_norm_with_update")
def batch_norm_with_update(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float, eps: float
) -> tuple[Any, Any, Any, Any]:
    """input (N, C, *), all others (C,) -> result (N, C, *), mean (C,), 1/deviation (C,), no bytes."""
    normalized = ops.native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *normalized, input.new_empty((0,), dtype=uint8)
