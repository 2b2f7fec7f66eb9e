"""Derivatives of convolutions: both gradients are convolutions again."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.decomp.conv_gradients import convolution_gradients
from mt_core.keys import PYTHON
from mt_core.state import tls

from ..rules import derivative, forward_rule, joint_derivative
from ._parts import derivative_of_parts


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
    output_padding: Any,
    groups: int,
) -> tuple[Any, Any, Any]:
    grad = grads[0]
    if grad is None:
        return None, None, None
    if (grad._keys | tls.include) & PYTHON:  # handlers are told of the gradients as one
        sizes = [grad.shape[1] if mask[2] else 0]
        wanted = (bool(mask[0]), bool(mask[1]), bool(mask[2]))
        rest = (stride, padding, dilation, transposed, output_padding, groups, wanted)
        return ops.convolution_backward(grad, input, weight, sizes, *rest)  # type: ignore[no-any-return]
    return convolution_gradients(mask, grad, input, weight, (stride, padding, dilation, transposed, groups))


def _convolution_tangent(
    input_t: Any, weight_t: Any, bias_t: Any, input: Any, weight: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    """The convolution is linear in the input and in the weight; the bias goes with the input, or alone."""
    geometry = stride, padding, dilation, transposed, output_padding, groups
    parts = []
    if input_t is not None:
        parts.append(ops.convolution(input_t, weight, None, *geometry))
    if weight_t is not None:
        parts.append(ops.convolution(input, weight_t, None, *geometry))
    if bias_t is not None:
        parts.append(bias_t.reshape(-1, *(1,) * len(stride)))
    return sum(parts[1:], parts[0])


joint_derivative("convolution", ("input", "weight", "bias"), _convolution, forward=_convolution_tangent)
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

forward_rule("linear", "col2im", "im2col")
