"""Activation functions written in other operators."""

from __future__ import annotations

from typing import Any

from ..api import _functions as ops
from ..cell import cell_of
from ..checks.dtypes import require_number
from ..dispatch.elementwise import check_same_device
from ..dispatch.registry import overload
from ..dispatch.registry import register_composite as composite
from ..dtypes import bfloat16, float32, float64, scalar_type_name
from ..state import tls

_softmax = overload("_softmax", "activation").cache
_log_softmax = overload("_log_softmax", "activation").cache

#: Constants of `selu`, from Klambauer et al., "Self-Normalizing Neural Networks", 2017.
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


@composite("selu")
def selu(self: Any) -> Any:
    return ops.elu(self, SELU_ALPHA, SELU_SCALE)


@composite("selu_")
def selu_(self: Any) -> Any:
    return ops.elu_(self, SELU_ALPHA, SELU_SCALE)


@composite("relu6")
def relu6(self: Any) -> Any:
    return ops.hardtanh(self, 0, 6)


@composite("relu6_")
def relu6_(self: Any) -> Any:
    return ops.hardtanh_(self, 0, 6)


@composite("log_sigmoid")
def log_sigmoid(self: Any) -> Any:
    return ops.log_sigmoid_forward(self)[0]


@composite("prelu")
def prelu(self: Any, weight: Any) -> Any:
    if self.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {scalar_type_name(self.dtype)} and "
            f"{scalar_type_name(weight.dtype)}"
        )
    if weight.numel() != 1:
        _check_channels(self, weight)
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if self.dim() > 1 or weight.dim() > self.dim():
        weight = weight.view([weight.numel() if i == 1 else 1 for i in range(self.dim())])
    return ops._prelu_kernel(self, weight)


def _check_channels(self: Any, weight: Any) -> None:
    if not self.dim():
        raise RuntimeError("Not allow zero-dim input tensor.")
    channels = self.shape[1] if self.dim() > 1 else 1
    if weight.numel() != channels:
        raise RuntimeError(
            "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
            f"{weight.numel()} and channel size = {channels}."
        )


@composite("rrelu")
def rrelu(self: Any, lower: Any, upper: Any, training: bool, generator: Any) -> Any:
    require_number(float64, lower, upper)
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    return ops.rrelu_with_noise(self, ops.empty_like(self), lower, upper, training, generator)


@composite("rrelu_with_noise", explicit=True)
def rrelu_with_noise(self: Any, noise: Any, lower: Any, upper: Any, training: bool, generator: Any) -> Any:
    """Slopes are drawn, in double precision, for the elements that are not positive, in their order."""
    check_same_device([self, noise])
    self = self.contiguous()
    if not training:
        return ops.leaky_relu(self, (lower + upper) / 2)
    if self.is_meta:
        return self * noise
    if self.dtype not in (bfloat16, float32, float64):
        raise NotImplementedError(f"\"rrelu_with_noise_out_cpu\" not implemented for '{scalar_type_name(self.dtype)}'")
    falling = self <= 0
    version = cell_of(noise).version
    noise.fill_(1)
    count = int(falling.sum().item())
    slopes = ops.empty((count,), dtype=float64, device=self.device).uniform_(lower, upper, generator=generator)
    noise.masked_scatter_(falling, slopes.to(noise.dtype))
    cell_of(noise).version = version  # to PyTorch, the noise is not written to
    return self * noise


@composite("rrelu_with_noise_functional", explicit=True)
def rrelu_with_noise_functional(self: Any, noise: Any, *rest: Any) -> Any:
    """self, noise (*S) -> result (*S), slopes (*S)."""
    slopes = noise.clone()
    return ops.rrelu_with_noise(self, slopes, *rest), slopes


@composite("rrelu_with_noise_backward", explicit=True)
def rrelu_with_noise_backward(
    grad_output: Any, self: Any, noise: Any, lower: Any, upper: Any, training: bool, self_is_result: bool
) -> Any:
    if training and upper - lower > 1e-6:
        return grad_output * noise
    return ops.leaky_relu_backward(grad_output, self, (lower + upper) / 2, self_is_result)


@composite("softmax.int")
def softmax(self: Any, dim: int, dtype: Any) -> Any:
    if dtype is not None:
        self = self.to(dtype)
    return _softmax[self._keys | tls.mode](self, dim, False)


@composite("log_softmax.int")
def log_softmax(self: Any, dim: int, dtype: Any) -> Any:
    if dtype is not None:
        self = self.to(dtype)
    return _log_softmax[self._keys | tls.mode](self, dim, False)
