"""Derivatives of normalization."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.autograd_state import is_grad_enabled

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
