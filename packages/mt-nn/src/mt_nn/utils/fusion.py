"""Joining a convolution or a linear map with the batch normalization that follows it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import mt_core as mt
from mt_core import Tensor

from ..parameter import Parameter

if TYPE_CHECKING:
    from ..modules.batchnorm import _BatchNorm
    from ..modules.conv import _ConvNd
    from ..modules.linear import Linear

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_eval(conv: _ConvNd, bn: _BatchNorm, transpose: bool = False) -> _ConvNd:
    """One convolution that does the work of a convolution and a batch normalization in evaluation mode."""
    _check_evaluation(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of a convolution joined with a batch normalization.

    Parameters
    ----------
    conv_w
        The convolution's weight; its output channels are the first dimension, of a transposed one the second.
    conv_b
        The convolution's bias.
    bn_rm
        Running means.
    bn_rv
        Running variances.
    bn_eps
        Added to the variances.
    bn_w
        The normalization's weight.
    bn_b
        The normalization's bias.
    transpose
        Whether the convolution is transposed.
    """
    bias = mt.zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = mt.ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = mt.zeros_like(bn_rm) if bn_b is None else bn_b
    factor = bn_w * mt.rsqrt(bn_rv + bn_eps)
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    weight = (conv_w * factor.reshape(shape)).to(dtype=conv_w.dtype)
    fused = ((bias - bn_rm) * factor + bn_b).to(dtype=bias.dtype)
    return Parameter(weight, conv_w.requires_grad), Parameter(fused, bias.requires_grad)


def fuse_linear_bn_eval(linear: Linear, bn: _BatchNorm) -> Linear:
    """One linear map that does the work of a linear map and a batch normalization in evaluation mode."""
    _check_evaluation(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of a linear map joined with a batch normalization; arguments as in `fuse_conv_bn_weights`."""
    bias = mt.zeros_like(bn_rm) if linear_b is None else linear_b
    factor = bn_w * mt.rsqrt(bn_rv + bn_eps)
    weight = linear_w * factor.unsqueeze(-1).to(dtype=linear_w.dtype)
    fused = ((bias - bn_rm) * factor + bn_b).to(dtype=bias.dtype)
    return Parameter(weight, linear_w.requires_grad), Parameter(fused, bias.requires_grad)


def _check_evaluation(module: _ConvNd | Linear, bn: _BatchNorm) -> None:
    if module.training or bn.training:
        raise AssertionError("Fusion only for eval!")
