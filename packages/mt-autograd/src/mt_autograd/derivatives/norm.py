"""Derivatives of normalization."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.autograd_state import is_grad_enabled
from mt_core.decomp.norm import batch_norm_backward
from mt_core.dispatch.registry import find_overload

from ..rules import joint_derivative


def layer_norm_gradients(
    grads: Any,
    mask: Any,
    input: Any,
    normalized_shape: Any,
    weight: Any,
    bias: Any,
    eps: float,
    result1: Any,
    result2: Any,
) -> tuple[Any, Any, Any]:
    """Fused where the gradient itself is not recorded; else in operators that can be differentiated again."""
    grad = grads[0]
    if grad is None:
        return None, None, None
    if not is_grad_enabled():
        return ops.native_layer_norm_backward(
            grad, input, normalized_shape, result1, result2, weight, bias, tuple(mask)
        )
    dims = tuple(range(-len(normalized_shape), 0))
    centered = input - input.mean(dims, keepdim=True)
    rstd = ((centered * centered).mean(dims, keepdim=True) + eps).rsqrt()
    normalized = centered * rstd
    lead = tuple(range(input.dim() - len(normalized_shape)))
    weighted = grad if weight is None else grad * weight
    level = weighted.mean(dims, keepdim=True)
    along = (weighted * normalized).mean(dims, keepdim=True)
    grad_input = (weighted - level - normalized * along) * rstd
    grad_weight = (grad * normalized).sum(lead) if lead else grad * normalized
    return grad_input, grad_weight, grad.sum(lead) if lead else grad


joint_derivative(
    "native_layer_norm", ("input", "weight", "bias"), layer_norm_gradients, differentiable_outputs=(True, False, False)
)


def batch_norm_gradients(
    grads: Any, mask: Any, input: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float, result1: Any,
    result3: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Fused where the gradient itself is not recorded; else in operators that can be differentiated again."""
    grad = grads[0]
    if grad is None:
        return None, None, None
    training = mean is None
    used = result1 if training else mean
    if not is_grad_enabled():
        return find_overload("_batch_norm_backward").call(grad, input, weight, used, result3, training, tuple(mask))
    rstd = result3
    if training:
        dims, wide = (0, *range(2, input.dim())), input.to(input.dtype.compute)
        used, spread = wide.mean(dims), ops.var(wide, dims, correction=0)
        rstd = (spread + eps).rsqrt()
    return batch_norm_backward(grad, input, weight, used, rstd, training, (True, True, True))


joint_derivative(
    "_batch_norm", ("input", "weight", "bias"), batch_norm_gradients, node="NativeBatchNormBackward0",
    differentiable_outputs=(True, False, False, False),
)  # fmt: skip
