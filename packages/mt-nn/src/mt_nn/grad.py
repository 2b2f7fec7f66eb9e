"""Gradients of convolutions, by themselves."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_autograd import grad
from mt_core import Tensor

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
    return _gradient(dims, grad_output.new_zeros(input_size), weight, grad_output, options, of_input=True)


def _conv_weight(dims: int, input: Tensor, weight_size: Any, grad_output: Tensor, *options: Any) -> Tensor:
    return _gradient(dims, input, grad_output.new_zeros(weight_size), grad_output, options, of_input=False)


def _gradient(
    dims: int, input: Tensor, weight: Tensor, grad_output: Tensor, options: tuple[Any, ...], of_input: bool
) -> Tensor:
    """The gradient of a convolution, which is linear in each argument, so that the values of the one do not matter."""
    stride, padding, dilation, groups = options
    with mt.enable_grad():
        variable = (input if of_input else weight).detach().requires_grad_(True)
        operands = (variable, weight) if of_input else (input, variable)
        output = getattr(mt, f"conv{dims}d")(*operands, None, stride, padding, dilation, groups)
    (gradient,) = grad(output, variable, grad_output)
    return gradient
