"""Linear maps."""

import math
from typing import Any

import mt_core as mt
from mt_core import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Returns its input; takes and ignores any arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """x @ weight.T + bias.

    Parameters
    ----------
    in_features
        Size of the input's last dimension.
    out_features
        Size of the output's last dimension.
    bias
        Whether there is a bias.

    Shape: (*, in_features) -> (*, out_features).

    Attributes
    ----------
    weight
        Shape (out_features, in_features), drawn uniformly from -1/sqrt(in_features) to 1/sqrt(in_features).
    bias
        Shape (out_features,), drawn likewise.
    """

    __constants__ = ["in_features", "out_features"]
    in_features: int
    out_features: int
    weight: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(mt.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(mt.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear` that dynamic quantization leaves alone."""


class Bilinear(Module):
    """x1 @ weight @ x2 + bias, for each output feature.

    Parameters
    ----------
    in1_features
        Size of the first input's last dimension.
    in2_features
        Size of the second input's last dimension.
    out_features
        Size of the output's last dimension.
    bias
        Whether there is a bias.

    Shape: (*, in1_features), (*, in2_features) -> (*, out_features).

    Attributes
    ----------
    weight
        Shape (out_features, in1_features, in2_features), drawn uniformly from -1/sqrt(in1_features) to
        1/sqrt(in1_features).
    bias
        Shape (out_features,), drawn likewise.
    """

    __constants__ = ["in1_features", "in2_features", "out_features"]
    in1_features: int
    in2_features: int
    out_features: int
    weight: Tensor

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(mt.empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(mt.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` that takes `in_features` from its first input.

    Parameters
    ----------
    out_features
        Size of the output's last dimension.
    bias
        Whether there is a bias.
    """

    cls_to_become = Linear
    weight: UninitializedParameter
    bias: UninitializedParameter

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        # With no input features there is nothing to draw, so the random stream is left as it is.
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Shape the parameters after an input."""
        if self.has_uninitialized_params():
            with mt.no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            self.in_features = self.weight.shape[-1]
