"""Derivatives of activation functions that are operators of their own: declarations."""

from __future__ import annotations

from typing import Any

from ..promotion import ARITHMETIC
from ._checks import COMPLEX, FLOATS, INTEGERS, Supported
from ._declare import Family

family = Family("activation")


def _backward(
    schema: str, kernel: str, accepted: frozenset[Any] = FLOATS, out: Any = "grad_input", **options: Any
) -> None:
    out = (out, (out,)) if isinstance(out, str) else out
    family.elementwise(schema, promotion=ARITHMETIC, variants="", out=out, check=Supported(kernel, accepted), **options)


_SMOOTH = FLOATS | COMPLEX
_backward("sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor", "sigmoid_backward_cpu", _SMOOTH)
_backward("tanh_backward(Tensor grad_output, Tensor output) -> Tensor", "tanh_backward_cpu", _SMOOTH)
_backward("silu_backward(Tensor grad_output, Tensor self) -> Tensor", "silu_backward_cpu", _SMOOTH)
_backward("mish_backward(Tensor grad_output, Tensor self) -> Tensor", "mish_backward_cpu", out=False)
_backward(
    'gelu_backward(Tensor grad_output, Tensor self, *, str approximate="none") -> Tensor', "GeluBackwardKernelImpl"
)
_backward(
    "softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor",
    "softplus_backward_cpu",
)
_backward("log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor", "log_sigmoid_backward_cpu",
          exact_out="Found dtype {out} but expected {expected}")  # fmt: skip
_backward(
    "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor "
    "self_or_result) -> Tensor",
    "elu_backward_cpu",
)
_backward("logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor", "logit_backward_cpu")

_backward(
    "threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
    "threshold_cpu",
    INTEGERS | FLOATS,
)
_backward(
    "hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
    "hardshrink_backward_cpu",
)
_backward("hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor", "hardsigmoid_backward")
_backward(
    "hardswish_backward(Tensor grad_output, Tensor self) -> Tensor", "hardswish_backward_cpu", out="out", exact_out=True
)
_backward("leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor",
          "leaky_relu_backward_cpu")  # fmt: skip
_backward("softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor", "shrink_backward_cpu")
_backward("hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor", "shrink_backward_cpu")

family.plain("_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)", variants="")
family.plain(
    "glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor", variants="", out=("grad_input", ("grad_input",))
)
family.composite(
    "rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool "
    "training, bool self_is_result) -> Tensor",
    variants="",
)  # fmt: skip
