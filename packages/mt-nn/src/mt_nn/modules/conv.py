"""Convolutions over 1, 2 or 3 spatial dimensions, and their transposes.

Inputs have the shape (N, C, *) or (C, *). Sizes are one number for all spatial dimensions or one for each.
"""

import math
from collections.abc import Sequence
from typing import Any

import mt_core as mt
from mt_core import Tensor

from .. import functional as F
from .. import init
from .._arguments import _ntuple, _reverse_repeat_tuple
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]

Sizes = int | tuple[int, ...]

_PADDING_STRINGS = ("same", "valid")
_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions share: the checked arguments, the weight and the bias.

    Parameters
    ----------
    in_channels
        Number of channels of the input.
    out_channels
        Number of channels of the output.
    kernel_size
        Size of the kernel.
    stride
        Step between windows.
    padding
        How much to put on both sides of the input, or ``"same"`` or ``"valid"``.
    dilation
        Step between elements of the kernel.
    transposed
        Whether this is a transposed convolution.
    output_padding
        How much a transposed convolution adds to one side of its output.
    groups
        Number of groups into which the channels are divided, each convolved by itself.
    bias
        Whether there is a bias.
    padding_mode
        What is put around the input: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.

    Attributes
    ----------
    weight
        Shape (out_channels, in_channels / groups, *kernel_size), or (in_channels, out_channels / groups, *kernel_size)
        if transposed, drawn uniformly within 1 / sqrt(number of inputs of an output).
    bias
        Shape (out_channels,), drawn likewise.
    """

    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str | tuple[int, ...]
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: str
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        super().__init__()
        _check_groups(in_channels, out_channels, groups)
        _check_padding(padding, stride, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _both_sides(padding, dilation, kernel_size)
        self.weight = Parameter(mt.empty(self._weight_shape(), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(mt.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        if self.transposed:
            return (self.in_channels, self.out_channels // self.groups, *self.kernel_size)
        return (self.out_channels, self.in_channels // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draw new weights."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        dims = len(self.kernel_size)
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        if self.padding != (0,) * len(self.padding):
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * dims:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * dims:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "padding_mode"):  # absent from old pickles
            self.padding_mode = "zeros"


def _check_groups(in_channels: int, out_channels: int, groups: int) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")


def _check_padding(padding: str | tuple[int, ...], stride: tuple[int, ...], padding_mode: str) -> None:
    if isinstance(padding, str):
        if padding not in _PADDING_STRINGS:
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {_listed(_PADDING_STRINGS)}")
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            f"padding_mode must be one of {_listed(_PADDING_MODES)}, but got padding_mode='{padding_mode}'"
        )


def _listed(words: tuple[str, ...]) -> str:
    return "{" + ", ".join(map(repr, words)) + "}"


def _both_sides(padding: str | tuple[int, ...], dilation: Sequence[int], kernel_size: Sequence[int]) -> Sequence[int]:
    """The padding of each side as `pad` takes it: from the last dimension to the first."""
    if not isinstance(padding, str):
        return _reverse_repeat_tuple(padding, 2)
    sides = [0, 0] * len(kernel_size)
    if padding == "same":
        for position, (step, size) in enumerate(zip(dilation, kernel_size, strict=True)):
            total = step * (size - 1)
            last_first = 2 * (len(kernel_size) - 1 - position)
            sides[last_first] = total // 2
            sides[last_first + 1] = total - total // 2
    return sides


class _ConvForwardNd(_ConvNd):
    """A convolution over `_dims` spatial dimensions."""

    _dims: int
    #: Name of the function in `functional`.
    _operator: str

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: str | Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        each = _ntuple(self._dims)
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            padding if isinstance(padding, str) else each(padding),
            each(dilation),
            False,
            each(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self._dims
        return getattr(F, self._operator)(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_ConvForwardNd):
    """A convolution of inputs of shape (N, C, L) or (C, L). See `_ConvNd` for the arguments."""

    _dims = 1
    _operator = "conv1d"


class Conv2d(_ConvForwardNd):
    """A convolution of inputs of shape (N, C, H, W) or (C, H, W). See `_ConvNd` for the arguments."""

    _dims = 2
    _operator = "conv2d"


class Conv3d(_ConvForwardNd):
    """A convolution of inputs of shape (N, C, D, H, W) or (C, D, H, W). See `_ConvNd` for the arguments."""

    _dims = 3
    _operator = "conv3d"


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution over `_dims` spatial dimensions."""

    _dims: int
    #: Name of the function in `functional`.
    _operator: str

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {self.__class__.__name__}')
        each = _ntuple(self._dims)
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            each(padding),
            each(dilation),
            True,
            each(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """The transposed convolution.

        Parameters
        ----------
        input
            Shape (N, C, *) or (C, *).
        output_size
            Spatial size of the result, where several sizes have the same convolved one.
        """
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for {self._plain_name()}")
        output_padding = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, self._dims, self.dilation
        )
        return getattr(F, self._operator)(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )

    def _plain_name(self) -> str:
        return f"ConvTranspose{self._dims}d"

    def _output_padding(
        self,
        input: Tensor,
        output_size: list[int] | None,
        stride: Sequence[int],
        padding: Sequence[int],
        kernel_size: Sequence[int],
        num_spatial_dims: int,
        dilation: Sequence[int] | None = None,
    ) -> Sequence[int]:
        """The output padding that gives the size asked for."""
        if output_size is None:
            return self.output_padding
        spatial = _spatial_part(input, output_size, num_spatial_dims)
        dilation = (1,) * num_spatial_dims if dilation is None else dilation
        smallest = [
            (input.size(dim + input.dim() - num_spatial_dims) - 1) * stride[dim]
            - 2 * padding[dim]
            + dilation[dim] * (kernel_size[dim] - 1)
            + 1
            for dim in range(num_spatial_dims)
        ]
        largest = [size + step - 1 for size, step in zip(smallest, stride, strict=True)]
        for size, low, high in zip(spatial, smallest, largest, strict=True):
            if size < low or size > high:
                raise ValueError(
                    f"requested an output size of {output_size}, but valid sizes range from {smallest} to {largest} "
                    f"(for an input of {input.size()[2:]})"
                )
        return [size - low for size, low in zip(spatial, smallest, strict=True)]


def _spatial_part(input: Tensor, output_size: list[int], num_spatial_dims: int) -> list[int]:
    """An output size without the batch and the channels, which may be given too."""
    leading = input.dim() - num_spatial_dims
    if len(output_size) == leading + num_spatial_dims:
        return output_size[leading:]
    if len(output_size) != num_spatial_dims:
        raise ValueError(
            f"ConvTranspose{num_spatial_dims}D: for {input.dim()}D input, output_size must have {num_spatial_dims} or "
            f"{leading + num_spatial_dims} elements (got {len(output_size)})"
        )
    return output_size


class ConvTranspose1d(_ConvTransposeNd):
    """A transposed convolution of inputs of shape (N, C, L) or (C, L). See `_ConvNd` for the arguments."""

    _dims = 1
    _operator = "conv_transpose1d"


class ConvTranspose2d(_ConvTransposeNd):
    """A transposed convolution of inputs of shape (N, C, H, W) or (C, H, W). See `_ConvNd` for the arguments."""

    _dims = 2
    _operator = "conv_transpose2d"


class ConvTranspose3d(_ConvTransposeNd):
    """A transposed convolution of inputs of shape (N, C, D, H, W) or (C, D, H, W). See `_ConvNd` for the arguments."""

    _dims = 3
    _operator = "conv_transpose3d"


class _LazyConvXdMixin(LazyModuleMixin):
    """Lets a convolution take `in_channels` from its first input; put before its class."""

    groups: int
    transposed: bool
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    weight: UninitializedParameter
    bias: UninitializedParameter | None

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Shape the parameters after an input."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        self.weight.materialize(self._weight_shape())
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input: Tensor) -> int:
        unbatched = self._get_num_spatial_dims() + 1
        if input.dim() not in (unbatched, unbatched + 1):
            raise RuntimeError(
                f"Expected {unbatched}D (unbatched) or {unbatched + 1}D (batched) input to {self.__class__.__name__}, "
                f"but got input of size: {input.shape}"
            )
        return input.shape[input.dim() - unbatched]

    def _get_num_spatial_dims(self) -> int:
        return self._dims

    def _forget_shapes(self, out_channels: int, bias: bool, factory_kwargs: dict[str, Any]) -> None:
        self.weight = UninitializedParameter(**factory_kwargs)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(**factory_kwargs)


class _LazyConvNd(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: str | Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        factory_kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        # With no channels there is nothing to draw, so the random stream is left as it is.
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, **factory_kwargs)
        self._forget_shapes(out_channels, bias, factory_kwargs)


class _LazyConvTransposeNd(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        factory_kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, **factory_kwargs
        )
        self._forget_shapes(out_channels, bias, factory_kwargs)


class LazyConv1d(_LazyConvNd, Conv1d):
    """A `Conv1d` that takes `in_channels` from its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvNd, Conv2d):
    """A `Conv2d` that takes `in_channels` from its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvNd, Conv3d):
    """A `Conv3d` that takes `in_channels` from its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTransposeNd, ConvTranspose1d):
    """A `ConvTranspose1d` that takes `in_channels` from its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTransposeNd, ConvTranspose2d):
    """A `ConvTranspose2d` that takes `in_channels` from its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTransposeNd, ConvTranspose3d):
    """A `ConvTranspose3d` that takes `in_channels` from its first input."""

    cls_to_become = ConvTranspose3d
