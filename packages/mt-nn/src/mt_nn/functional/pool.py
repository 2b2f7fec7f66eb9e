"""Pooling: means, maxima and norms over windows of the last 1, 2 or 3 dimensions.

Inputs have the shape (N, C, *) or (C, *). Sizes are one number for all dimensions or one for each; `stride` is by
default the kernel size; `ceil_mode` rounds the number of windows up rather than down.
"""

import math
from collections.abc import Callable
from typing import Any

import mt_core as mt
from mt_core import Tensor

from .._arguments import _list_with_default, _ntuple, _pair, _triple

__all__ = [
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

Sizes = int | tuple[int, ...] | list[int]
PooledOrWithIndices = Tensor | tuple[Tensor, Tensor]


def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> PooledOrWithIndices:
    """Maxima over windows of an input of shape (N, C, L) or (C, L), with their positions if asked for."""
    if return_indices:
        return max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return mt.max_pool1d(input, kernel_size, _or_empty(stride), padding, dilation, ceil_mode)


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """(maxima, their positions); see `max_pool1d`."""
    return mt.max_pool1d_with_indices(input, kernel_size, _or_empty(stride), padding, dilation, ceil_mode)


def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> PooledOrWithIndices:
    """Maxima over windows of an input of shape (N, C, H, W) or (C, H, W), with their positions if asked for."""
    if return_indices:
        return max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return mt.max_pool2d(input, kernel_size, _or_empty(stride), padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """(maxima, their positions in a flattened channel); see `max_pool2d`."""
    return mt.max_pool2d_with_indices(input, kernel_size, _or_empty(stride), padding, dilation, ceil_mode)


def max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> PooledOrWithIndices:
    """Maxima over windows of an input of shape (N, C, D, H, W) or (C, D, H, W), with their positions if asked for."""
    if return_indices:
        return max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return mt.max_pool3d(input, kernel_size, _or_empty(stride), padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """(maxima, their positions in a flattened channel); see `max_pool3d`."""
    return mt.max_pool3d_with_indices(input, kernel_size, _or_empty(stride), padding, dilation, ceil_mode)


def _or_empty(stride: Sizes | None) -> Sizes:
    """A stride as operators take it: an empty list stands for the kernel size."""
    return [] if stride is None else stride


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: list[int] | None = None,
) -> Tensor:
    """Maxima put back where `max_pool1d` found them, zeros elsewhere.

    Parameters
    ----------
    input
        Maxima, shape (N, C, L) or (C, L).
    indices
        Their positions.
    kernel_size
        That of the pooling.
    stride
        That of the pooling.
    padding
        That of the pooling.
    output_size
        Size of the result, where several sizes have the same pooled one.
    """
    sizes = _unpool_output_size(input, _ntuple(1)(kernel_size), stride, _ntuple(1)(padding), output_size)
    return mt.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*sizes, 1]).squeeze(-1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: list[int] | None = None,
) -> Tensor:
    """Maxima put back where `max_pool2d` found them, zeros elsewhere; arguments as in `max_unpool1d`."""
    sizes = _unpool_output_size(input, _pair(kernel_size), stride, _pair(padding), output_size)
    return mt.max_unpool2d(input, indices, sizes)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: list[int] | None = None,
) -> Tensor:
    """Maxima put back where `max_pool3d` found them, zeros elsewhere; arguments as in `max_unpool1d`."""
    kernel_size = _triple(kernel_size)
    strides = kernel_size if stride is None else _triple(stride)
    padding = _triple(padding)
    sizes = _unpool_output_size(input, kernel_size, strides, padding, output_size)
    return mt.max_unpool3d(input, indices, sizes, strides, padding)


def _unpool_output_size(
    input: Tensor,
    kernel_size: tuple[int, ...],
    stride: Sizes | None,
    padding: tuple[int, ...],
    output_size: list[int] | None,
) -> list[int]:
    """The spatial sizes of an unpooled tensor, those asked for being checked against what pooling could have had."""
    count = len(kernel_size)
    strides = kernel_size if stride is None else _ntuple(count)(stride)
    pooled = input.size()[-count:]
    # By position: of too few sizes it is Python's IndexError, and what is too many the operator refuses.
    default = [(pooled[i] - 1) * strides[i] + kernel_size[i] - 2 * padding[i] for i in range(count)]
    if output_size is None:
        return default
    if len(output_size) == count + 2:
        output_size = output_size[2:]
    if len(output_size) != count:
        raise ValueError(
            f"output_size should be a sequence containing {count} or {count + 2} elements, but it has a length of "
            f"'{len(output_size)}'"
        )
    for dim, (size, base, step) in enumerate(zip(output_size, default, strides, strict=True)):
        if not base - step < size < base + step:
            raise ValueError(
                f'invalid output_size "{output_size}" (dim {dim} must be between {base - step} and {base + step})'
            )
    return list(output_size)


def lp_pool1d(
    input: Tensor, norm_type: int | float, kernel_size: int, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """Norms of order `norm_type` over windows of an input of shape (N, C, L) or (C, L)."""
    means = mt.avg_pool1d(input.pow(norm_type), kernel_size, _or_empty(stride), 0, ceil_mode)
    return _norm_of_mean_power(means, kernel_size if isinstance(kernel_size, int) else kernel_size[0], norm_type)


def lp_pool2d(
    input: Tensor, norm_type: int | float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """Norms of order `norm_type` over windows of an input of shape (N, C, H, W) or (C, H, W)."""
    means = mt.avg_pool2d(input.pow(norm_type), kernel_size, _or_empty(stride), 0, ceil_mode)
    return _norm_of_mean_power(means, math.prod(_pair(kernel_size)), norm_type)


def lp_pool3d(
    input: Tensor, norm_type: int | float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """Norms of order `norm_type` over windows of an input of shape (N, C, D, H, W) or (C, D, H, W)."""
    means = mt.avg_pool3d(input.pow(norm_type), kernel_size, _or_empty(stride), 0, ceil_mode)
    return _norm_of_mean_power(means, math.prod(_triple(kernel_size)), norm_type)


def _norm_of_mean_power(means: Tensor, count: int, norm_type: int | float) -> Tensor:
    """Norms from mean powers. Negative means, which odd powers can give, keep their sign; the gradient at 0 is 0."""
    return (mt.sign(means) * mt.relu(mt.abs(means))).mul(count).pow(1.0 / norm_type)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means over as many windows as the output size asks for.

    Parameters
    ----------
    input
        Shape (N, C, H, W) or (C, H, W).
    output_size
        One number or one for each dimension, `None` standing for the input's own size.
    """
    return mt.adaptive_avg_pool2d(input, _list_with_default(output_size, input.size()))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """`adaptive_avg_pool2d` of an input of shape (N, C, D, H, W) or (C, D, H, W)."""
    return mt.adaptive_avg_pool3d(input, _list_with_default(output_size, input.size()))


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> PooledOrWithIndices:
    """Maxima over as many windows of an input (N, C, L) or (C, L) as asked for, with their positions if asked for."""
    result = adaptive_max_pool1d_with_indices(input, output_size)
    return result if return_indices else result[0]


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """(maxima, their positions); see `adaptive_max_pool1d`."""
    return mt.adaptive_max_pool1d(input, output_size)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> PooledOrWithIndices:
    """Maxima over as many windows of an input (N, C, H, W) or (C, H, W) as asked for, with their positions if asked."""
    result = adaptive_max_pool2d_with_indices(input, output_size)
    return result if return_indices else result[0]


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """(maxima, their positions in a flattened channel); see `adaptive_max_pool2d`."""
    return mt.adaptive_max_pool2d(input, _list_with_default(output_size, input.size()))


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> PooledOrWithIndices:
    """Maxima over as many windows of an input (N, C, D, H, W) or without N as asked for, with positions if asked."""
    result = adaptive_max_pool3d_with_indices(input, output_size)
    return result if return_indices else result[0]


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """(maxima, their positions in a flattened channel); see `adaptive_max_pool3d`."""
    return mt.adaptive_max_pool3d(input, _list_with_default(output_size, input.size()))


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: float | tuple[float, float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> PooledOrWithIndices:
    """Maxima over windows at random steps (Graham 2014).

    Parameters
    ----------
    input
        Shape (N, C, H, W) or (C, H, W).
    kernel_size
        Size of a window.
    output_size
        Size of the result.
    output_ratio
        Size of the result by that of the input, in place of `output_size`.
    return_indices
        Whether to return the positions of the maxima too.
    """
    result = fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, _random_samples=_random_samples
    )
    return result if return_indices else result[0]


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: float | tuple[float, float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """(maxima, their positions); see `fractional_max_pool2d`."""
    return _fractional_max_pool(
        mt.fractional_max_pool2d, "fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio,
        _random_samples,
    )  # fmt: skip


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: float | tuple[float, float, float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> PooledOrWithIndices:
    """`fractional_max_pool2d` of an input of shape (N, C, T, H, W) or (C, T, H, W)."""
    result = fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, _random_samples=_random_samples
    )
    return result if return_indices else result[0]


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: float | tuple[float, float, float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """(maxima, their positions); see `fractional_max_pool3d`."""
    return _fractional_max_pool(
        mt.fractional_max_pool3d, "fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio,
        _random_samples,
    )  # fmt: skip


def _fractional_max_pool(
    operator: Callable[..., tuple[Tensor, Tensor]],
    name: str,
    count: int,
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None,
    output_ratio: Any,
    random_samples: Tensor | None,
) -> tuple[Tensor, Tensor]:
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        output_size = _fractions(input, count, output_ratio, name)
    if random_samples is None:
        batch = 1 if input.dim() == count + 1 else input.size(0)
        channels = input.size(-count - 1)
        random_samples = mt.rand(batch, channels, count, dtype=input.dtype, device=input.device)
    return operator(input, kernel_size, output_size, random_samples)


def _fractions(input: Tensor, count: int, output_ratio: Any, name: str) -> list[int]:
    """Sizes of an input's last dimensions times a ratio, which may be given for each of them."""
    ratios = _ntuple(count)(output_ratio)
    if len(ratios) > count:
        raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
    return [int(input.size(i - count) * ratios[i]) for i in range(count)]
