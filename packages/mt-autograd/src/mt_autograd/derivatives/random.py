"""Derivatives of random numbers: 0 for what they overwrite and for what they were drawn with."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.decomp.random import native_dropout_scale

from ..rules import derivative, non_differentiable, real_only
from ._parts import written_times
from ._refused import refused_argument, refused_operator


def zeros(grad: Any) -> Any:
    """The gradient of an argument that has no influence."""
    return ops.zeros_like(grad)


#: The same, filled by the operator that PyTorch counts.
filled_zeros = written_times(1, zeros)

derivative("normal_", self=zeros)
derivative("normal.Tensor_float", mean=filled_zeros, node="NormalBackward1")
derivative("normal.float_Tensor", std=filled_zeros, node="NormalBackward2")
derivative("normal.Tensor_Tensor", mean=filled_zeros, std=filled_zeros, node="NormalBackward3")
real_only("normal.Tensor_float", "normal.float_Tensor", "normal.Tensor_Tensor")
derivative("bernoulli", self=zeros)
derivative("bernoulli_.Tensor", self=zeros, p=filled_zeros, node="BernoulliBackward1")
derivative("bernoulli_.float", self=zeros, node="BernoulliBackward2")
derivative("random_.from", self=zeros)
derivative("random_.to", self=zeros)
derivative("random_", self=zeros)
derivative("uniform_", self=zeros)
derivative("exponential_", self=zeros)
derivative("geometric_", self=zeros)
derivative("log_normal_", self=zeros)
derivative("cauchy_", self=zeros)
derivative("poisson", self=filled_zeros)
derivative("_standard_gamma", self=lambda grad, result, self: grad * ops._standard_gamma_grad(self, result))
derivative(
    "_standard_gamma_grad",
    self=refused_argument("_standard_gamma_grad"),
    output=refused_argument("_standard_gamma_grad"),  # PyTorch drops this gradient without a word
)
refused_operator("_sample_dirichlet", "self")
refused_operator("_dirichlet_grad", "x", "alpha", "total")
derivative("bernoulli.Tensor", self=zeros, p=filled_zeros)
for _name in ("uniform normal_functional log_normal exponential cauchy geometric random random.from random.to").split():
    derivative(_name, self=zeros)

non_differentiable("rand", "rand.generator", "randn", "randn.generator", "normal.float_float")
non_differentiable("randint", "randint.generator", "randint.low", "randint.low_generator")
non_differentiable("randperm", "randperm.generator", "multinomial")
non_differentiable("rand_like", "rand_like.generator", "randn_like", "randn_like.generator")
non_differentiable("randint_like", "randint_like.generator", "randint_like.Tensor", "randint_like.Tensor_generator")
non_differentiable("randint_like.low_dtype", "randint_like.low_generator_dtype")

derivative(
    "native_dropout",
    input=lambda grad, result1, p, train: ops.native_dropout_backward(
        grad, result1, 1.0 if train is False else native_dropout_scale(p)
    ),
    differentiable_outputs=(True, False),
)
real_only("native_dropout")
derivative(
    "native_dropout_backward",
    grad_output=lambda grad, mask, scale: grad * mask * scale,
)
non_differentiable(
    "_sobol_engine_draw", "_sobol_engine_initialize_state_", "_sobol_engine_scramble_", "_sobol_engine_ff_"
)
