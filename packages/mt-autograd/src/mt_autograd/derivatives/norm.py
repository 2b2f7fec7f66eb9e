"""Derivatives of normalization."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.autograd_state import is_grad_enabled
from mt_core.decomp.norm import batch_norm_backward, native_group_norm_backward
from mt_core.dispatch.registry import find_overload

from ..rules import joint_derivative
from ._refused import refused_operator

refused_operator("batch_norm_update_stats", "input", "running_mean", "running_var")


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


def group_norm_gradients(
    grads: Any, mask: Any, input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float,
    result1: Any, result2: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """As one operator where the gradient itself is not recorded; else in operators that can be differentiated again."""
    grad, of_mean, of_rstd = grads
    sizes = N, C, HxW, group
    if of_mean is None and of_rstd is None:
        if grad is None:
            return None, None, None
        if not is_grad_enabled():
            backward = find_overload("native_group_norm_backward")
            return backward.call(grad, input, result1, result2, weight, *sizes, tuple(mask))
    d = input.dtype
    wide = input.to(d.compute)
    groups = wide.reshape((N, group, C // max(group, 1) * HxW))
    mean, rstd = groups.mean((2,)), (ops.var(groups, (2,), correction=0) + eps).rsqrt()
    result: list[Any] = [None, None, None]
    if grad is not None:
        result = list(native_group_norm_backward(grad.to(d.compute), wide, mean, rstd, weight, *sizes, tuple(mask)))
    if mask[0]:
        result[0] = _with_statistics(result[0], of_mean, of_rstd, groups, mean, rstd, input.shape).to(d)
    return result[0], result[1], result[2]


def _with_statistics(gradient: Any, of_mean: Any, of_rstd: Any, groups: Any, mean: Any, rstd: Any, shape: Any) -> Any:
    """The input's gradient and what the cotangents of mean and 1/deviation, (N, G), add to it."""
    count = groups.shape[2]
    if of_mean is not None:
        added = (of_mean / count).unsqueeze(2).expand(groups.shape).reshape(shape)
        gradient = added if gradient is None else gradient + added
    if of_rstd is not None:
        added = ((groups - mean.unsqueeze(2)) * (of_rstd * -(rstd**3) / count).unsqueeze(2)).reshape(shape)
        gradient = added if gradient is None else gradient + added
    return gradient


joint_derivative("native_group_norm", ("input", "weight", "bias"), group_norm_gradients)
