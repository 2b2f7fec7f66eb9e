"""Normalizations of torch_npu: the sum before, the norm, the activation after it, in one call."""

from __future__ import annotations

from typing import Any

import mindtorch as torch

from ._declare import operator

__all__ = [
    "npu_add_layer_norm", "npu_add_rms_norm", "npu_deep_norm", "npu_group_norm_silu", "npu_layer_norm_eval",
    "npu_rms_norm",
]  # fmt: skip

F = torch.nn.functional


def _last(tensor: Any, gamma: Any) -> tuple[int, ...]:
    """The dimensions that a weight is for: the last ones."""
    if tuple(tensor.shape[tensor.dim() - gamma.dim() :]) != tuple(gamma.shape):
        raise RuntimeError(
            f"the weight of shape {list(gamma.shape)} is not of the last dimensions of an input of shape "
            f"{list(tensor.shape)}"
        )
    return tuple(range(-gamma.dim(), 0))


def _rms(tensor: Any, gamma: Any, epsilon: float) -> tuple[Any, Any]:
    wide = tensor.float()
    rstd = torch.rsqrt(wide.square().mean(_last(tensor, gamma), keepdim=True) + epsilon)
    return (wide * rstd * gamma.float()).to(tensor.dtype), rstd


@operator("npu_rms_norm(Tensor self, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)")
def npu_rms_norm(self: Any, gamma: Any, epsilon: float = 1e-06) -> tuple[Any, Any]:
    """self (*N, *D), gamma (*D) -> x / rms(x) * gamma (*N, *D), 1 / rms(x) (*N, 1 ...) of float32."""
    return _rms(self, gamma, epsilon)


@operator("npu_add_rms_norm(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor, Tensor)")
def npu_add_rms_norm(x1: Any, x2: Any, gamma: Any, epsilon: float = 1e-06) -> tuple[Any, Any, Any]:
    """x1, x2 (*N, *D), gamma (*D) -> the norm of x1 + x2, 1 / rms (*N, 1 ...) of float32, x1 + x2."""
    total = x1 + x2
    return (*_rms(total, gamma, epsilon), total)


def _centered(tensor: Any, gamma: Any, beta: Any, epsilon: float) -> tuple[Any, Any, Any]:
    """(layer norm, mean, 1 / standard deviation), calculated in float32."""
    wide, dims = tensor.float(), _last(tensor, gamma)
    mean = wide.mean(dims, keepdim=True)
    rstd = torch.rsqrt((wide - mean).square().mean(dims, keepdim=True) + epsilon)
    return (wide - mean) * rstd * gamma.float() + beta.float(), mean, rstd


@operator(
    "npu_add_layer_norm(Tensor x1, Tensor x2, Tensor gamma, Tensor beta, float epsilon=1e-05, "
    "bool additional_output=False) -> (Tensor, Tensor, Tensor, Tensor)"
)
def npu_add_layer_norm(
    x1: Any, x2: Any, gamma: Any, beta: Any, epsilon: float = 1e-05, additional_output: bool = False
) -> tuple[Any, Any, Any, Any]:
    """x1, x2 (*N, D), gamma, beta (D) -> the norm of x1 + x2, mean and 1 / deviation (*N, 1) of float32, x1 + x2.

    The sum has no elements unless it is asked for.
    """
    total = x1 + x2
    normed, mean, rstd = _centered(total, gamma, beta, epsilon)
    return normed.to(total.dtype), mean, rstd, total if additional_output else total.new_empty((0,))


@operator(
    "npu_deep_norm(Tensor x, Tensor gx, Tensor beta, Tensor gamma, float alpha=0.3, float epsilon=1e-06) -> "
    "(Tensor, Tensor, Tensor)"
)
def npu_deep_norm(
    x: Any, gx: Any, beta: Any, gamma: Any, alpha: float = 0.3, epsilon: float = 1e-06
) -> tuple[Any, Any, Any]:
    """x, gx (*N, *D), beta, gamma (*D) -> mean, 1 / deviation (*N, 1 ...) of float32, the norm of alpha * x + gx."""
    normed, mean, rstd = _centered(alpha * x.float() + gx.float(), gamma, beta, epsilon)
    return mean, rstd, normed.to(x.dtype)


@operator(
    "npu_layer_norm_eval(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
    "float eps=1e-05) -> Tensor"
)
def npu_layer_norm_eval(
    input: Any, normalized_shape: list[int], weight: Any = None, bias: Any = None, eps: float = 1e-05
) -> Any:
    """`torch.nn.functional.layer_norm`."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


@operator(
    "npu_group_norm_silu(Tensor input, Tensor? weight, Tensor? bias, int group, float eps=0.00001) -> "
    "(Tensor, Tensor, Tensor)"
)
def npu_group_norm_silu(input: Any, weight: Any, bias: Any, group: int, eps: float = 0.00001) -> tuple[Any, Any, Any]:
    """input (N, C, *) -> silu of the group norm (N, C, *), mean and 1 / deviation (N, group)."""
    count = input.numel() // max(input.shape[0] * input.shape[1], 1)
    normed, mean, rstd = torch.native_group_norm(
        input.contiguous(), weight, bias, input.shape[0], input.shape[1], count, group, eps
    )
    return F.silu(normed), mean, rstd
