"""Shape rules of activation functions that are more than elementwise."""

from __future__ import annotations

from typing import Any

from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import bfloat16, dtype, float16, float32, float64, scalar_type_name
from ..keys import STRIDED
from ..layout import broadcast_shapes, broadcast_strides, output_strides
from ..spec import Spec
from ..tensor import wrap_dim

_FLOATS = frozenset({float16, bfloat16, float32, float64})


def require_float(d: dtype, kernel: str) -> None:
    """Refuse what is not a real floating dtype, in PyTorch's words."""
    if d not in _FLOATS:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type_name(d)}'")


@shape_rule("log_sigmoid_forward")
def log_sigmoid_forward(self: Any) -> tuple[Spec, Spec]:
    """self (*) -> result (*), buffer (*): what backward needs, e^-|self|."""
    require_float(self.dtype, "log_sigmoid_cpu")
    return Spec(self.shape, self.dtype), Spec(self.shape, self.dtype)


@shape_rule("_prelu_kernel_backward")
def prelu_backward(grad_output: Any, self: Any, weight: Any) -> tuple[Spec, Spec]:
    """grad_output (*), self (*), weight (*), broadcast -> gradients of self and of weight, both of the common shape."""
    require_float(self.dtype, "prelu_backward_cpu")
    shape = broadcast_shapes([grad_output.shape, self.shape, weight.shape])
    strides = None
    if (grad_output._keys | self._keys) & STRIDED:
        operands = [broadcast_strides(t.shape, t.stride(), shape) for t in (self, weight, grad_output)]
        strides = output_strides(shape, operands)
    spec = Spec(shape, self.dtype, strides)
    return spec, spec


# Gated linear units


def _halved(self: Any, dim: int) -> tuple[int, ...]:
    if not self.dim():
        raise RuntimeError("glu does not support 0-dimensional tensors")
    at = wrap_dim(dim, self.dim())
    size = self.shape[at]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {at} is size {size}")
    return (*self.shape[:at], size // 2, *self.shape[at + 1 :])


@shape_rule("glu")
def glu(self: Any, dim: int) -> Spec:
    """self (*, 2 N, *) -> (*, N, *), halved along `dim`."""
    shape = _halved(self, dim)
    require_float(self.dtype, "glu_cpu")
    return Spec(shape, self.dtype, output_strides(shape, [self.stride()]))


@shape_rule("glu_backward")
def glu_backward(grad_output: Any, self: Any, dim: int) -> Spec:
    """grad_output (*, N, *), self (*, 2 N, *) -> (*, 2 N, *)."""
    _halved(self, dim)
    require_float(self.dtype, "glu_backward_cpu")
    return Spec(self.shape, self.dtype)
