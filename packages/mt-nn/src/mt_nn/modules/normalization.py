"""Normalization over features or groups of channels, with the same work in training and evaluation."""

import numbers

import mt_core as mt
from mt_core import Size, Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]

Shape = int | list[int] | Size


class LocalResponseNorm(Module):
    """x / (k + alpha * mean of x^2 over `size` neighbouring channels)^beta (Krizhevsky et al. 2012)."""

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """`LocalResponseNorm` of images of shape (N, C, H, W), under its former name."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LayerNorm(Module):
    """The input shifted and scaled to zero mean and unit variance over its last dimensions (Ba et al. 2016).

    Parameters
    ----------
    normalized_shape
        Sizes of the last dimensions; one number for the last alone.
    eps
        Added to the variance.
    elementwise_affine
        Whether to scale and shift by learned weights.
    bias
        Whether to shift.

    Attributes
    ----------
    weight
        Shape `normalized_shape`, initially 1.
    bias
        Shape `normalized_shape`, initially 0.
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    normalized_shape: tuple[int, ...]
    eps: float
    elementwise_affine: bool

    def __init__(
        self,
        normalized_shape: Shape,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        for name, wanted in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            empty = mt.empty(self.normalized_shape, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, Parameter(empty) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return mt.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(Module):
    """The input normalized over groups of channels (Wu and He 2018).

    Parameters
    ----------
    num_groups
        Number of groups into which the channels are divided.
    num_channels
        Number of channels C.
    eps
        Added to the variance.
    affine
        Whether to scale and shift by learned weights of shape (C,).
    bias
        Whether to shift.

    Shape: (N, C, *) -> (N, C, *).
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]
    num_groups: int
    num_channels: int
    eps: float
    affine: bool

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            empty = mt.empty(num_channels, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, Parameter(empty) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """The input divided by its root mean square over its last dimensions (Zhang and Sennrich 2019).

    Parameters
    ----------
    normalized_shape
        Sizes of the last dimensions; one number for the last alone.
    eps
        Added to the mean square; by default the machine epsilon of the input's dtype.
    elementwise_affine
        Whether to scale by learned weights of that shape, initially 1.
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    normalized_shape: tuple[int, ...]
    eps: float | None
    elementwise_affine: bool

    def __init__(
        self,
        normalized_shape: Shape,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = Parameter(mt.empty(self.normalized_shape, device=device, dtype=dtype))
        else:
            self.register_parameter("weight", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


def _as_tuple(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, numbers.Integral) else tuple(shape)
