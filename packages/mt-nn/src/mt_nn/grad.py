"""Gradients of convolutions, by themselves."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core import Tensor

from ._arguments import _ntuple

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]

Sizes = int | tuple[int, ...]


def conv1d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` with respect to its input.

    Parameters
    ----------
    input_size
        Shape of the input.
    weight
        The convolution's weight.
    grad_output
        Gradient with respect to its output.
    stride
        Step between windows.
    padding
        Zeros on both sides.
    dilation
        Step between elements of the kernel.
    groups
        Number of groups.
    """
    return _conv_input(1, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` with respect to its weight.

    Parameters
    ----------
    input
        The convolution's input.
    weight_size
        Shape of the weight.
    grad_output
        Gradient with respect to its output.
    stride
        Step between windows.
    padding
        Zeros on both sides.
    dilation
        Step between elements of the kernel.
    groups
        Number of groups.
    """
    return _conv_weight(1, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` with respect to its input; arguments as in `conv1d_input`."""
    return _conv_input(2, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` with respect to its weight; arguments as in `conv1d_weight`."""
    return _conv_weight(2, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Any,
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` with respect to its input; arguments as in `conv1d_input`."""
    return _conv_input(3, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor,
    weight_size: Any,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` with respect to its weight; arguments as in `conv1d_weight`."""
    return _conv_weight(3, input, weight_size, grad_output, stride, padding, dilation, groups)


def _conv_input(dims: int, input_size: Any, weight: Tensor, grad_output: Tensor, *options: Any) -> Tensor:
    # Only the shape of the input matters, so one number stands for all of it.
    input = grad_output.new_empty(1).expand(input_size)
    return _convolution_backward(dims, grad_output, input, weight, options, (True, False, False))[0]


def _conv_weight(dims: int, input: Tensor, weight_size: Any, grad_output: Tensor, *options: Any) -> Tensor:
    weight = grad_output.new_empty(1).expand(weight_size)
    return _convolution_backward(dims, grad_output, input, weight, options, (False, True, False))[1]


def _convolution_backward(
    dims: int, grad_output: Tensor, input: Tensor, weight: Tensor, options: tuple[Any, ...], mask: tuple[bool, ...]
) -> tuple[Tensor, ...]:
    stride, padding, dilation, groups = options
    each = _ntuple(dims)
    return mt.convolution_backward(
        grad_output, input, weight, None, each(stride), each(padding), each(dilation), False, [0], groups, mask
    )
