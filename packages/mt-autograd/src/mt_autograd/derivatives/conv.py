"""Derivatives of convolutions: both gradients are convolutions again."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.formats import contiguous_format
from mt_core.layout import suggested_format
from mt_core.shape_rules.conv import transposed_size

from ..rules import derivative, joint_derivative
from ._conjugate import conj
from ._parts import derivative_of_parts


def _input_gradient(grad: Any, weight: Any, input_spec: Any, options: Any) -> Any:
    stride, padding, dilation, transposed, groups = options
    spatial = len(stride)
    weight = conj(weight)
    if transposed:
        result = ops.convolution(grad, weight, None, stride, padding, dilation, False, (0,) * spatial, groups)
        # An output padding of a stride or more reaches past the input.
        for i in range(spatial):
            result = result.narrow(i + 2, 0, input_spec.shape[i + 2])
        return result
    # What the division by the stride had dropped is given back as output padding.
    rest = [
        input_spec.shape[i + 2]
        - transposed_size(grad.shape[i + 2], weight.shape[i + 2], stride[i], padding[i], dilation[i], 0)
        for i in range(spatial)
    ]
    return ops.convolution(grad, weight, None, stride, padding, dilation, True, tuple(rest), groups)


def _weight_gradient(grad: Any, input: Any, kernel: Any, options: Any) -> Any:
    """Input correlated with gradient, samples taking the place of channels: (o, c / groups, *kernel)."""
    stride, padding, dilation, _, groups = options
    input = conj(input)
    n, outputs = grad.shape[:2]
    channels = input.shape[1] // groups
    spatial = tuple(range(3, 3 + len(kernel)))
    source = (
        input.reshape((n, groups, channels, *input.shape[2:]))
        .permute((2, 1, 0, *spatial))
        .reshape((channels, groups * n, *input.shape[2:]))
    )
    filters = (
        grad.reshape((n, groups, outputs // groups, *grad.shape[2:]))
        .permute((1, 2, 0, *spatial))
        .reshape((outputs, n, *grad.shape[2:]))
    )
    result = ops.convolution(source, filters, None, dilation, padding, stride, False, (0,) * len(kernel), groups)
    for i, size in enumerate(kernel):
        result = result.narrow(i + 2, 0, size)
    return (
        result.reshape((channels, groups, outputs // groups, *kernel))
        .permute((1, 2, 0, *spatial))
        .reshape((outputs, channels, *kernel))
    )


def _transposed_weight_gradient(grad: Any, input: Any, kernel: Any, options: Any) -> Any:
    """The same with the parts exchanged.

    What was input is the gradient of the adjoint, which is an ordinary convolution.
    """
    if grad.is_complex():
        return _weight_gradient(conj(input), conj(grad), kernel, options)
    return _weight_gradient(input, grad, kernel, options)


def _convolution(
    grads: Any,
    mask: Any,
    input: Any,
    weight: Any,
    bias_spec: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    groups: int,
) -> tuple[Any, Any, Any]:
    grad = grads[0]
    if grad is None:
        return None, None, None
    options = (stride, padding, dilation, transposed, groups)
    if not input.numel():
        return _gradients_of_nothing(mask, grad, input, weight, bias_spec)
    kernel = tuple(weight.shape[2:])
    grad_input = grad_weight = grad_bias = None
    if mask[0]:
        grad_input = _input_gradient(grad, weight, input, options)
    if mask[1]:
        grad_weight = (
            _transposed_weight_gradient(grad, input, kernel, options)
            if transposed
            else _weight_gradient(grad, input, kernel, options)
        )
        wanted = suggested_format(input) or suggested_format(weight) or contiguous_format
        grad_weight = grad_weight.contiguous(memory_format=wanted)
    if mask[2]:
        grad_bias = grad.sum((0, *range(2, grad.dim())))
    return grad_input, grad_weight, grad_bias


def _gradients_of_nothing(mask: Any, grad: Any, input: Any, weight: Any, bias_spec: Any) -> tuple[Any, Any, Any]:
    """Zeros: no sample, or no channel, tells anything of the weights."""
    grad_bias = ops.zeros(bias_spec.shape, dtype=bias_spec.dtype, device=grad.device) if mask[2] else None
    return ops.zeros_like(input) if mask[0] else None, ops.zeros_like(weight) if mask[1] else None, grad_bias


joint_derivative("convolution", ("input", "weight", "bias"), _convolution)
derivative_of_parts("conv_tbc", "self", "weight", "bias")
derivative(
    "im2col",
    self=lambda grad, self_spec, kernel_size, dilation, padding, stride: ops.col2im(
        grad, tuple(self_spec.shape[-2:]), kernel_size, dilation, padding, stride
    ),
)
derivative(
    "col2im",
    self=lambda grad, kernel_size, dilation, padding, stride: ops.im2col(grad, kernel_size, dilation, padding, stride),
)
