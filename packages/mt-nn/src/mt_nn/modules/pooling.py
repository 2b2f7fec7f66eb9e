"""Pooling as modules. Inputs have the shape (N, C, *) or (C, *).

Sizes are one number for all spatial dimensions or one for each; `stride` is by default the kernel size; `ceil_mode`
rounds the number of windows up rather than down.
"""

from typing import Any

from mt_core import Tensor

from .. import functional as F
from .._arguments import _ntuple, _single
from .module import Module

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]

Sizes = int | tuple[int, ...]


class _MaxPoolNd(Module):
    """Maxima over windows.

    Parameters
    ----------
    kernel_size
        Size of a window.
    stride
        Step between windows.
    padding
        How much of minus infinity to put on both sides.
    dilation
        Step between elements of a window.
    return_indices
        Whether to return the positions of the maxima too, for unpooling.
    ceil_mode
        Whether to round the number of windows up.
    """

    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    #: Name of the function in `functional`.
    _function: str
    return_indices: bool
    ceil_mode: bool

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """Maxima over windows of one dimension."""

    _function = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """Maxima over windows of two dimensions."""

    _function = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """Maxima over windows of three dimensions."""

    _function = "max_pool3d"


class _MaxUnpoolNd(Module):
    """Maxima put back where pooling found them, zeros elsewhere; the arguments are those of the pooling."""

    _dims: int
    #: Name of the function in `functional`.
    _function: str

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        each = _ntuple(self._dims)
        self.kernel_size = each(kernel_size)
        self.stride = each(stride if stride is not None else kernel_size)
        self.padding = each(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return getattr(F, self._function)(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """The reverse of `MaxPool1d`."""

    _dims = 1
    _function = "max_unpool1d"


class MaxUnpool2d(_MaxUnpoolNd):
    """The reverse of `MaxPool2d`."""

    _dims = 2
    _function = "max_unpool2d"


class MaxUnpool3d(_MaxUnpoolNd):
    """The reverse of `MaxPool3d`."""

    _dims = 3
    _function = "max_unpool3d"


class _AvgPoolNd(Module):
    """Means over windows.

    Parameters
    ----------
    kernel_size
        Size of a window.
    stride
        Step between windows.
    padding
        How many zeros to put on both sides.
    ceil_mode
        Whether to round the number of windows up.
    count_include_pad
        Whether these zeros count as elements.
    """

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """Means over windows of one dimension. See `_AvgPoolNd` for the arguments."""

    def __init__(
        self,
        kernel_size: int | tuple[int],
        stride: int | tuple[int] | None = None,
        padding: int | tuple[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolWithDivisor(_AvgPoolNd):
    """`divisor_override` is what sums are divided by, in place of the number of elements."""

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]
    #: Name of the function in `functional`.
    _function: str

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_AvgPoolWithDivisor):
    """Means over windows of two dimensions. See `_AvgPoolNd` for the arguments."""

    _function = "avg_pool2d"


class AvgPool3d(_AvgPoolWithDivisor):
    """Means over windows of three dimensions. See `_AvgPoolNd` for the arguments."""

    _function = "avg_pool3d"

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for name, value in (("padding", 0), ("ceil_mode", False), ("count_include_pad", True)):
            self.__dict__.setdefault(name, value)


class _FractionalMaxPoolNd(Module):
    """Maxima over windows at random steps (Graham 2014).

    Parameters
    ----------
    kernel_size
        Size of a window.
    output_size
        Size of the result.
    output_ratio
        Size of the result by that of the input, in place of `output_size`.
    return_indices
        Whether to return the positions of the maxima too.
    _random_samples
        Where the windows are, in place of random numbers.
    """

    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    _dims: int
    #: Name of the function in `functional`.
    _function: str

    def __init__(
        self,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        each = _ntuple(self._dims)
        self.kernel_size = each(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = each(output_size) if output_size is not None else None
        self.output_ratio = each(output_ratio) if output_ratio is not None else None
        self._check_output(output_ratio)

    def _check_output(self, output_ratio: Any) -> None:
        name = type(self).__name__
        if self.output_size is None and self.output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if self.output_size is not None and self.output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Maxima over windows of two dimensions at random steps."""

    _dims = 2
    _function = "fractional_max_pool2d"


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Maxima over windows of three dimensions at random steps."""

    _dims = 3
    _function = "fractional_max_pool3d"

    def __init__(self, kernel_size: Sizes, *args: Any, **kwargs: Any) -> None:
        if any(size <= 0 for size in _ntuple(3)(kernel_size)):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        super().__init__(kernel_size, *args, **kwargs)


class _LPPoolNd(Module):
    """Norms over windows.

    Parameters
    ----------
    norm_type
        Order of the norm.
    kernel_size
        Size of a window.
    stride
        Step between windows.
    ceil_mode
        Whether to round the number of windows up.
    """

    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]
    #: Name of the function in `functional`.
    _function: str
    norm_type: float
    ceil_mode: bool

    def __init__(
        self, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """Norms over windows of one dimension."""

    _function = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """Norms over windows of two dimensions."""

    _function = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """Norms over windows of three dimensions."""

    _function = "lp_pool3d"


class _AdaptiveMaxPoolNd(Module):
    """Maxima over as many windows as `output_size` asks for, with their positions if `return_indices`."""

    __constants__ = ["output_size", "return_indices"]
    #: Name of the function in `functional`.
    _function: str
    return_indices: bool

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maxima over as many windows of one dimension as asked for."""

    _function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maxima over as many windows of two dimensions as asked for; `None` stands for the input's own size."""

    _function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maxima over as many windows of three dimensions as asked for; `None` stands for the input's own size."""

    _function = "adaptive_max_pool3d"


class _AdaptiveAvgPoolNd(Module):
    """Means over as many windows as `output_size` asks for."""

    __constants__ = ["output_size"]
    #: Name of the function in `functional`.
    _function: str

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means over as many windows of one dimension as asked for."""

    _function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means over as many windows of two dimensions as asked for; `None` stands for the input's own size."""

    _function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means over as many windows of three dimensions as asked for; `None` stands for the input's own size."""

    _function = "adaptive_avg_pool3d"
