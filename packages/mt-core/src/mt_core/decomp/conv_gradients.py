"""The gradients of a convolution, which are convolutions again, and the gradients of these."""

from __future__ import annotations

from typing import Any

from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ..formats import contiguous_format
from ..layout import suggested_format
from ..shape_rules.conv import transposed_size
from .conv import spread

__all__ = ["convolution_gradients"]

Ints = tuple[int, ...]


def _conj(tensor: Any) -> Any:
    """The conjugate of a complex tensor; others as they are, without a call."""
    return tensor.conj() if tensor.is_complex() else tensor


def _input_gradient(grad: Any, weight: Any, input: Any, options: Any) -> Any:
    stride, padding, dilation, transposed, groups = options
    spatial = len(stride)
    weight = _conj(weight)
    if transposed:
        result = ops.convolution(grad, weight, None, stride, padding, dilation, False, (0,) * spatial, groups)
        # An output padding of a stride or more reaches past the input.
        for i in range(spatial):
            result = result.narrow(i + 2, 0, input.shape[i + 2])
        return result
    # What the division by the stride had dropped is given back as output padding.
    rest = [
        input.shape[i + 2]
        - transposed_size(grad.shape[i + 2], weight.shape[i + 2], stride[i], padding[i], dilation[i], 0)
        for i in range(spatial)
    ]
    return ops.convolution(grad, weight, None, stride, padding, dilation, True, tuple(rest), groups)


def _weight_gradient(grad: Any, input: Any, kernel: Any, options: Any) -> Any:
    """Input correlated with gradient, samples taking the place of channels: (o, c / groups, *kernel)."""
    stride, padding, dilation, _, groups = options
    input = _conj(input)
    n, outputs = grad.shape[:2]
    channels = input.shape[1] // groups
    input, padding = _cropped(input, grad, kernel, stride, padding, dilation)
    if groups == 1:
        result = ops.convolution(
            input.transpose(0, 1), grad.transpose(0, 1), None, dilation, padding, stride, False, (0,) * len(kernel), 1
        )
        return result.transpose(0, 1)
    spatial = tuple(range(3, 3 + len(kernel)))
    if channels == 1 and outputs == groups:
        # Of each channel of each sample, and their sum.
        planes = n * groups
        source, filters = input.reshape((1, planes, *input.shape[2:])), grad.reshape((planes, 1, *grad.shape[2:]))
        result = ops.convolution(source, filters, None, dilation, padding, stride, False, (0,) * len(kernel), planes)
        return result.reshape((n, groups, 1, *kernel)).sum(0)
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
    return (
        result.reshape((channels, groups, outputs // groups, *kernel))
        .permute((1, 2, 0, *spatial))
        .reshape((outputs, channels, *kernel))
    )


def _cropped(input: Any, grad: Any, kernel: Any, stride: Ints, padding: Ints, dilation: Ints) -> tuple[Any, Ints]:
    """(input without what no window reached, the padding that it still needs).

    The division by the stride had dropped it.
    """
    spatial = range(len(kernel))
    rest = [
        input.shape[i + 2] + 2 * padding[i] - stride[i] * (grad.shape[i + 2] - 1) - dilation[i] * (kernel[i] - 1) - 1
        for i in spatial
    ]
    # Less than a step of the kernel gives no place more.
    if all(rest[i] < dilation[i] for i in spatial):
        return input, padding
    if any(padding):
        ends = [end for i in reversed(spatial) for end in (padding[i], padding[i] - rest[i])]
        return ops.constant_pad_nd(input, ends), (0,) * len(kernel)
    for i in spatial:
        input = input.narrow(i + 2, 0, input.shape[i + 2] - rest[i])
    return input, padding


def _transposed_weight_gradient(grad: Any, input: Any, kernel: Any, options: Any) -> Any:
    """The same with the parts exchanged.

    What was input is the gradient of the adjoint, which is an ordinary convolution.
    """
    return _weight_gradient(_conj(input), _conj(grad), kernel, options)


def convolution_gradients(mask: Any, grad: Any, input: Any, weight: Any, options: Any) -> tuple[Any, Any, Any]:
    """The gradients that `mask` asks for of input (n, c, *), weight (o, c / groups, *) and bias (o,); None else.

    `grad` is that of the result, (n, o, *); `options` are stride, padding, dilation, transposed and groups.
    """
    if not input.numel():
        return _gradients_of_nothing(mask, input, weight, options)
    transposed = options[3]
    kernel = tuple(weight.shape[2:])
    grad_input = grad_weight = None
    if mask[0]:
        grad_input = _input_gradient(grad, weight, input, options)
    if mask[1]:
        of_weight = _transposed_weight_gradient if transposed else _weight_gradient
        wanted = suggested_format(input) or suggested_format(weight) or contiguous_format
        grad_weight = of_weight(grad, input, kernel, options).contiguous(memory_format=wanted)
    return grad_input, grad_weight, grad.sum((0, *range(2, grad.dim()))) if mask[2] else None


def _gradients_of_nothing(mask: Any, input: Any, weight: Any, options: Any) -> tuple[Any, Any, Any]:
    """Zeros: no sample, or no channel, tells anything of the weights.

    The result of no channel has none either, whatever the weight says, so the bias has as many as the weight says.
    """
    *_, transposed, groups = options
    outputs = weight.shape[1] * groups if transposed else weight.shape[0]
    grad_bias = weight.new_zeros((outputs,)) if mask[2] else None
    return ops.zeros_like(input) if mask[0] else None, ops.zeros_like(weight) if mask[1] else None, grad_bias


@composite("convolution_backward")
def convolution_backward(
    grad_output: Any, input: Any, weight: Any, bias_sizes: Ints | None, stride: Ints, padding: Ints, dilation: Ints,
    transposed: bool, output_padding: Ints, groups: int, output_mask: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """grad_output (n, o, *), input (n, c, *), weight (o, c / groups, *) -> gradients of input, weight, bias (o,)."""
    options: Any = [spread(numbers, input.dim() - 2) for numbers in (stride, padding, dilation)]
    return convolution_gradients(output_mask, grad_output, input, weight, (*options, transposed, groups))


@composite("_convolution_double_backward")
def convolution_double_backward(
    ggI: Any, ggW: Any, ggb: Any, gO: Any, weight: Any, self: Any, stride: Ints, padding: Ints, dilation: Ints,
    transposed: bool, output_padding: Ints, groups: int, output_mask: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """ggI (n, c, *), ggW (o, c / groups, *), ggb (o,) -> gradients of gO (n, o, *), whatever the mask, of self, weight.

    A convolution is linear in input, weight and bias each: the gradient of `gO` is the sum of its convolutions with one
    of them replaced by the cotangent, those of input and weight are gradients with the other one replaced.
    """
    first: Any = [spread(numbers, self.dim() - 2) for numbers in (stride, padding, dilation)]
    rest: Any = transposed, spread(output_padding, self.dim() - 2), groups
    parts = []
    if ggI is not None:
        parts.append(ops.convolution(ggI, weight, None, *first, *rest))
    if ggW is not None:
        parts.append(ops.convolution(self, ggW, None, *first, *rest))
    if ggb is not None:
        parts.append(ggb.contiguous().view((-1, *([1] * (gO.dim() - 2)))).expand(gO.shape))
    grad_self = grad_weight = None
    if output_mask[1] and ggW is not None:
        grad_self = convolution_gradients((True, False, False), gO, self, ggW, (*first, transposed, groups))[0]
    if output_mask[2] and ggI is not None:
        grad_weight = convolution_gradients((False, True, False), gO, ggI, weight, (*first, transposed, groups))[1]
        grad_weight = _in_longer_kernels(grad_weight, *((gO, ggI) if transposed else (ggI, gO)), *first)
    return _sum_of(parts), grad_self, grad_weight


def _in_longer_kernels(gradient: Any, source: Any, filters: Any, stride: Ints, padding: Ints, dilation: Ints) -> Any:
    """The gradient (o, c, *kernel) in memory like PyTorch's: a part of all that source and filters meet in.

    PyTorch convolves channels with samples and shows the result, (c, o, *longest kernels), the other way around.
    """
    kernel = tuple(gradient.shape[2:])
    longest = [
        (source.shape[i + 2] + 2 * padding[i] - stride[i] * (filters.shape[i + 2] - 1) - 1) // dilation[i] + 1
        for i in range(len(kernel))
    ]
    ends = [end for i in reversed(range(len(kernel))) for end in (0, longest[i] - kernel[i])]
    result = ops.constant_pad_nd(gradient.transpose(0, 1).contiguous(), ends).transpose(0, 1)
    for i, size in enumerate(kernel):
        result = result.narrow(i + 2, 0, size)
    return result


def _sum_of(parts: list[Any]) -> Any:
    """The sum of tensors of one shape; None of none."""
    if not parts:
        return None
    result = parts[0]
    for part in parts[1:]:
        result = result + part
    return result
