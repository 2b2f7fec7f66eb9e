"""Initial values of parameters.

Every function fills a tensor in place, without recording gradients, and returns it. Given the same seed the values are
PyTorch's own.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mt_core as mt
from mt_core import Tensor
from mt_core.overriding import overridable_by_name

if TYPE_CHECKING:
    from mt_core.random import Generator

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_LINEAR = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
)


def calculate_gain(nonlinearity: str, param: int | float | None = None) -> float:
    """The factor by which a nonlinearity asks weights to be scaled, to keep the variance of activations.

    Parameters
    ----------
    nonlinearity
        The function's name in `functional`.
    param
        The negative slope of ``"leaky_relu"``.
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + _negative_slope(param) ** 2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _negative_slope(param: int | float | None) -> int | float:
    if param is None:
        return 0.01
    if isinstance(param, bool) or not isinstance(param, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return param


def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Generator | None = None) -> Tensor:
    with mt.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Generator | None = None) -> Tensor:
    with mt.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
    with mt.no_grad():
        return tensor.fill_(val)


def _no_grad_zero_(tensor: Tensor) -> Tensor:
    with mt.no_grad():
        return tensor.zero_()


@overridable_by_name
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Values drawn uniformly from `a` to `b`."""
    return _no_grad_uniform_(tensor, a, b, generator)


@overridable_by_name
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Values drawn from a normal distribution."""
    return _no_grad_normal_(tensor, mean, std, generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Values drawn from a normal distribution limited to the range from `a` to `b`.

    Values outside the range are drawn again until all are within; if few normal values would be, uniform ones are drawn
    and kept with the probability that the normal density gives them.
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=2,
        )
    probability = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    with mt.no_grad():
        if probability > _ENOUGH_WITHIN:
            return _truncate_normal_(tensor, mean, std, a, b, generator)
        return _thin_uniform_(tensor, mean, std, a, b, generator)


#: With a greater probability of being within the range, normal values are drawn; with a lesser one, uniform values.
_ENOUGH_WITHIN = 0.3


def _truncate_normal_(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    """Draw normal values again until all are within the range."""
    low, high = mt.tensor([a, b], dtype=tensor.dtype).tolist()
    tensor.normal_(mean, std, generator=generator)
    values = tensor
    while (outside := (values < low) | (values > high)).any():
        redrawn = mt.empty_like(values).normal_(mean, std, generator=generator)
        values = mt.where(outside, redrawn, values)
    return tensor if values is tensor else tensor.copy_(values)


def _thin_uniform_(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None) -> Tensor:
    """Draw uniform values until each has been kept with its density divided by the highest of the range."""
    mode = min(max(mean, a), b)
    log_highest = -0.5 * ((mode - mean) / std) ** 2

    def rejected(values: Tensor) -> Tensor:
        log_density = values.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_highest)
        return mt.empty_like(values).uniform_(generator=generator).log_() > log_density

    tensor.uniform_(a, b, generator=generator)
    values = tensor
    outside = rejected(values.clone())
    while outside.any():
        redrawn = mt.empty_like(values).uniform_(a, b, generator=generator)
        values = mt.where(outside, redrawn, values)
        outside = outside & rejected(redrawn)
    return tensor if values is tensor else tensor.copy_(values)


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


@overridable_by_name
def constant_(tensor: Tensor, val: float) -> Tensor:
    """The same value everywhere."""
    return _no_grad_fill_(tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return _no_grad_fill_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return _no_grad_zero_(tensor)


def eye_(tensor: Tensor) -> Tensor:
    """The identity, in a 2-d tensor."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with mt.no_grad():
        mt.eye(*tensor.shape, out=tensor, requires_grad=tensor.requires_grad)
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """A convolution's weight (3 to 5 dimensions) that passes as many channels through as it can.

    Parameters
    ----------
    tensor
        Shape (out channels, in channels, *).
    groups
        Number of groups whose channels are passed through each by itself.
    """
    ndim = tensor.ndimension()
    if ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    out_channels_per_group = sizes[0] // groups
    centre = tuple(size // 2 for size in sizes[2:])
    with mt.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(out_channels_per_group, sizes[1])):
                tensor[(group * out_channels_per_group + channel, channel, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs each output has, and how many outputs each input has, under a weight (out, in, *)."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    receptive_field = math.prod(tensor.shape[2:])
    return tensor.size(1) * receptive_field, tensor.size(0) * receptive_field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    valid_modes = ["fan_in", "fan_out"]
    if mode not in valid_modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {valid_modes}")
    return _calculate_fan_in_and_fan_out(tensor)[valid_modes.index(mode)]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform values of standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    bound = math.sqrt(3.0) * std
    return _no_grad_uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal values of standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    return _no_grad_normal_(tensor, 0.0, std, generator)


@overridable_by_name
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform values of standard deviation gain / sqrt(fan) (He et al. 2015).

    Parameters
    ----------
    tensor
        A weight (out, in, *).
    a
        The negative slope of ``"leaky_relu"``.
    mode
        ``"fan_in"`` keeps the variance of activations, ``"fan_out"`` that of gradients.
    nonlinearity
        What follows, which sets the gain.
    generator
        Where random numbers come from.
    """
    if 0 in tensor.shape:
        return _nothing_to_initialize(tensor)
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return _no_grad_uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal values of standard deviation gain / sqrt(fan) (He et al. 2015); arguments as in `kaiming_uniform_`."""
    if 0 in tensor.shape:
        return _nothing_to_initialize(tensor)
    return _no_grad_normal_(tensor, 0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _nothing_to_initialize(tensor: Tensor) -> Tensor:
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return tensor


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """A (semi-)orthogonal matrix of shape (size(0), product of the other sizes) (Saxe et al. 2013), times `gain`."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    flattened = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    if rows < columns:
        flattened.t_()
    q, r = mt.linalg_qr(flattened)
    q *= mt.diag(r, 0).sign()  # makes the distribution uniform (Mezzadri 2007)
    if rows < columns:
        q.t_()
    with mt.no_grad():
        tensor.view_as(q).copy_(q)
        tensor.mul_(gain)
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal values, of which a fraction in each column is zero (Martens 2010).

    Parameters
    ----------
    tensor
        2-d.
    sparsity
        The fraction of zeros.
    std
        Standard deviation of the others.
    generator
        Where random numbers come from.
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with mt.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[mt.randperm(rows)[:zeros], column] = 0
    return tensor


def _make_deprecate(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function under its former name, without the underscore."""
    new_name = function.__name__
    old_name = new_name[:-1]

    @functools.wraps(function)
    def deprecated(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(
            f"`nn.init.{old_name}` is now deprecated in favor of `nn.init.{new_name}`.", FutureWarning, stacklevel=2
        )
        return function(*args, **kwargs)

    deprecated.__name__ = old_name
    deprecated.__doc__ = f"Former name of `{new_name}`."
    return deprecated


uniform = _make_deprecate(uniform_)
normal = _make_deprecate(normal_)
constant = _make_deprecate(constant_)
eye = _make_deprecate(eye_)
dirac = _make_deprecate(dirac_)
xavier_uniform = _make_deprecate(xavier_uniform_)
xavier_normal = _make_deprecate(xavier_normal_)
kaiming_uniform = _make_deprecate(kaiming_uniform_)
kaiming_normal = _make_deprecate(kaiming_normal_)
orthogonal = _make_deprecate(orthogonal_)
sparse = _make_deprecate(sparse_)
