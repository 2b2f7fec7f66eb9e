"""Normalization."""

import math

import mt_core as mt
from mt_core import Tensor

from .padding import pad

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "rms_norm"]


def layer_norm(
    input: Tensor,
    normalized_shape: list[int] | tuple[int, ...],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The input shifted and scaled to zero mean and unit variance over its last dimensions (Ba et al. 2016).

    Parameters
    ----------
    input
        Shape (*, *normalized_shape).
    normalized_shape
        Sizes of the last dimensions.
    weight
        Factors, shape `normalized_shape`.
    bias
        Summands, shape `normalized_shape`.
    eps
        Added to the variance.
    """
    return mt.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(
    input: Tensor,
    normalized_shape: list[int] | tuple[int, ...],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """The input divided by its root mean square over its last dimensions (Zhang and Sennrich 2019).

    Parameters
    ----------
    input
        Shape (*, *normalized_shape).
    normalized_shape
        Sizes of the last dimensions.
    weight
        Factors, shape `normalized_shape`.
    eps
        Added to the mean square; by default the machine epsilon of the input's dtype.
    """
    return mt.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The input normalized over groups of channels (Wu and He 2018).

    Parameters
    ----------
    input
        Shape (N, C, *).
    num_groups
        Number of groups into which the C channels are divided.
    weight
        Factors, shape (C,).
    bias
        Summands, shape (C,).
    eps
        Added to the variance.
    """
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    size = input.size()
    _verify_batch_size([size[0] * size[1] // num_groups, num_groups, *size[2:]])
    return mt.group_norm(input, num_groups, weight, bias, eps)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """The input normalized for each channel over the batch (Ioffe and Szegedy 2015).

    Parameters
    ----------
    input
        Shape (N, C, *).
    running_mean
        Means of shape (C,), used in evaluation and updated in training.
    running_var
        Variances of shape (C,), likewise.
    weight
        Factors, shape (C,).
    bias
        Summands, shape (C,).
    training
        Whether to use the statistics of this batch.
    momentum
        The weight of this batch in the running statistics.
    eps
        Added to the variance.
    """
    if training:
        _verify_batch_size(input.size())
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return mt.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """The input normalized for each channel of each sample (Ulyanov et al. 2016).

    Parameters
    ----------
    input
        Shape (N, C, *).
    running_mean
        As in `batch_norm`.
    running_var
        As in `batch_norm`.
    weight
        Factors, shape (C,).
    bias
        Summands, shape (C,).
    use_input_stats
        Whether to use the statistics of the input rather than the running ones.
    momentum
        As in `batch_norm`.
    eps
        Added to the variance.
    """
    if use_input_stats:
        _verify_spatial_size(input.size())
    return mt.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + alpha * mean of x^2 over neighbouring channels)^beta (Krizhevsky et al. 2012).

    Parameters
    ----------
    input
        Shape (N, C, *).
    size
        Number of neighbouring channels.
    alpha
        Factor.
    beta
        Exponent.
    k
        Summand.
    """
    ndim = input.dim()
    if ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {ndim} dimensions)")
    if input.numel() == 0:
        return input
    before, after = size // 2, (size - 1) // 2
    squares = input.mul(input)
    if ndim == 3:
        padded = pad(squares.unsqueeze(1), (0, 0, before, after))
        means = mt.avg_pool2d(padded, (size, 1), stride=1).squeeze(1)
    else:
        sizes = input.size()
        planes = squares.view(sizes[0], 1, sizes[1], sizes[2], -1)
        padded = pad(planes, (0, 0, 0, 0, before, after))
        means = mt.avg_pool3d(padded, (size, 1, 1), stride=1).squeeze(1).view(sizes)
    return input / means.mul(alpha).add(k).pow(beta)


def _verify_batch_size(size: list[int] | tuple[int, ...]) -> None:
    if size[0] * math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _verify_spatial_size(size: list[int] | tuple[int, ...]) -> None:
    if math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")
