"""Shape rules of normalization."""

from __future__ import annotations

import math
from typing import Any

from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import dtype, float32, scalar_type_name
from ..formats import channels_last, channels_last_3d
from ..layout import channels_last_strides, strides_like, suggested_format
from ..spec import Spec

Ints = tuple[int, ...]

_CHANNELS_LAST = {4: channels_last, 5: channels_last_3d}


def check_normalized(input: Any, normalized_shape: Ints, weight: Any, bias: Any, before: str = "*, ") -> None:
    """Refuse a `normalized_shape` that is not the input's tail, and parameters of another shape.

    `before` is what the words for the expected shape begin with.
    """
    if not normalized_shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but "
            f"got normalized_shape = {list(normalized_shape)}"
        )
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and tuple(parameter._array.shape) != tuple(normalized_shape):
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(parameter.shape)} and normalized_shape = {list(normalized_shape)}"
            )
    shape = input._array.shape
    if tuple(shape[len(shape) - len(normalized_shape) :]) != tuple(normalized_shape) or len(shape) < len(
        normalized_shape
    ):
        tail = ", ".join(map(str, normalized_shape))
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape [{before}{tail}], but got "
            f"input of size{list(shape)}"
        )


def check_parameter_types(d: dtype, *parameters: Any) -> None:
    """Parameters have the input's dtype; beside half types they may all be float32."""
    given = [p._dtype for p in parameters if p is not None]
    wrong = next((found for found in given if found is not d), None)
    if wrong is None:
        return
    if given[0] is d:
        raise RuntimeError(f"expected scalar type {scalar_type_name(d)} but found {scalar_type_name(wrong)}")
    if any(found is not float32 for found in given):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if d.compute is d:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


@shape_rule("native_layer_norm")
def native_layer_norm(
    input: Any, normalized_shape: Ints, weight: Any, bias: Any, eps: float
) -> tuple[Spec, Spec, Spec]:
    """input (*L, *S), weight (*S), bias (*S) -> result (*L, *S), mean and 1/deviation (*L, 1, ..., 1)."""
    check_parameter_types(input._dtype, weight, bias)
    check_normalized(input, normalized_shape, weight, bias)
    _check_floating(input, "LayerNormKernelImpl")
    shape = input._array.shape
    lead = len(shape) - len(normalized_shape)
    statistics = tuple(n if i < lead else 1 for i, n in enumerate(shape))
    return Spec(shape, input._dtype), Spec(statistics, input._dtype), Spec(statistics, input._dtype)


def _check_floating(input: Any, kernel: str) -> None:
    if not input._dtype.is_floating_point or input._dtype.itemsize == 1:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type_name(input._dtype)}'")


@shape_rule("native_layer_norm_backward")
def native_layer_norm_backward(
    grad_out: Any, input: Any, normalized_shape: Ints, mean: Any, rstd: Any, weight: Any, bias: Any, output_mask: Any
) -> tuple[Spec | None, Spec | None, Spec | None]:
    """grad_out and input (*L, *S), mean and rstd (*L, 1, ..., 1) -> gradients of input, weight (*S), bias (*S)."""
    wanted_input, wanted_weight, wanted_bias = output_mask
    return (
        Spec(input._array.shape, input._dtype) if wanted_input else None,
        Spec(normalized_shape, input._dtype) if wanted_weight else None,
        Spec(normalized_shape, input._dtype) if wanted_bias else None,
    )


def _batch_strides(input: Any) -> Ints | None:
    """channels_last stays, also where sizes of 1 leave it open; other layouts become row-major."""
    shape = input._array.shape
    wanted = _CHANNELS_LAST.get(len(shape))
    if wanted is None or input.is_contiguous() or not input.is_contiguous(memory_format=wanted):
        return None
    return channels_last_strides(shape, wanted)


def _batch_gradient_strides(input: Any) -> Ints | None:
    """channels_last stays where the strides speak for it; other layouts become row-major."""
    wanted = suggested_format(input)
    if wanted is None or not input.is_contiguous(memory_format=wanted):
        return None
    return strides_like(input, input._array.shape)


@shape_rule("_batch_norm")
def batch_norm(
    input: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float
) -> tuple[Spec, Spec, Spec, Spec]:
    """input (N, C, *), all others (C,) -> result (N, C, *), mean, 1/deviation (or (0,) where given), variance (C,)."""
    _check_floating(input, "batch_norm")
    d, shape = input._dtype, input._array.shape
    strides = _batch_strides(input)
    channels = (shape[1],)
    statistics = channels if mean is None else (0,)
    return (
        Spec(shape, d, strides),
        Spec(statistics, d.compute if mean is None else d),
        Spec(statistics, d.compute if mean is None else d),
        Spec(channels, d.compute),
    )


@shape_rule("_batch_norm_backward")
def batch_norm_backward(
    grad_out: Any, input: Any, weight: Any, mean: Any, rstd: Any, training: bool, output_mask: Any
) -> tuple[Spec | None, Spec | None, Spec | None]:
    """grad_out and input (N, C, *), all others (C,) -> gradients of input, weight (C,), bias (C,)."""
    shape = input._array.shape
    specs = (
        Spec(shape, input._dtype, _batch_gradient_strides(input)),
        Spec((shape[1],), rstd._dtype),
        Spec((shape[1],), rstd._dtype),
    )
    return tuple([spec if wanted else None for spec, wanted in zip(specs, output_mask, strict=True)])  # type: ignore[return-value]


@shape_rule("layer_norm")
def layer_norm(input: Any, normalized_shape: Ints, weight: Any, bias: Any, eps: float, cudnn_enable: bool) -> Spec:
    """input (*L, *S), weight (*S), bias (*S) -> (*L, *S)."""
    return native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


def check_groups(input: Any, weight: Any, bias: Any, groups: int) -> None:
    """Refuse groups that the channels cannot be divided into, and parameters that are not one for each channel.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    shape = list(input._array.shape)
    if groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {groups}")
    if shape[1] % groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {shape} and "
            f"num_groups={groups}"
        )
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and tuple(parameter._array.shape) != (shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} "
                f"of shape {list(parameter.shape)} and input of shape {shape}"
            )


def _expect(holds: bool, condition: str) -> None:
    if not holds:
        raise RuntimeError(
            f"Expected {condition} to be true, but got false.  (Could this error message be improved?  If so, please "
            "report an enhancement request to PyTorch.)"
        )


@shape_rule("native_group_norm")
def native_group_norm(
    input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Spec, Spec, Spec]:
    """input (N, C, *), weight (C,), bias (C,) -> result (N, C, *), mean (N, G), 1/deviation (N, G)."""
    check_groups(input, weight, bias, group)
    check_parameter_types(input._dtype, weight, bias)
    shape, d = tuple(input._array.shape), input._dtype
    _expect(math.prod(shape) == N * C * HxW, "X.numel() == N * C * HxW")
    wanted = suggested_format(input)
    _expect(
        input.is_contiguous() if wanted is None else input.is_contiguous(memory_format=wanted),
        "X.is_contiguous(memory_format)",
    )
    kept = next((p._dtype for p in (weight, bias) if p is not None), d)
    return Spec(shape, d, strides_like(input, shape)), Spec((N, group), kept), Spec((N, group), kept)


@shape_rule("native_group_norm_backward")
def native_group_norm_backward(
    grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int, HxW: int, group: int, output_mask: Any
) -> tuple[Spec | None, Spec | None, Spec | None]:
    """grad_out and input (N, C, *), mean and rstd (N, G), weight (C,) -> gradients of input, weight (C,), bias (C,)."""
    shape, d = tuple(input._array.shape), mean._dtype
    specs = Spec(shape, input._dtype, strides_like(input, shape)), Spec((C,), d), Spec((C,), d)
    return tuple([spec if wanted else None for spec, wanted in zip(specs, output_mask, strict=True)])  # type: ignore[return-value]
