"""Conversion between images and their patches."""

from mt_core import Tensor

from .. import functional as F
from .module import Module

__all__ = ["Fold", "Unfold"]

Sizes = int | tuple[int, ...]


class Fold(Module):
    """Images from their blocks, given as columns; overlapping values are summed. See `functional.fold`.

    Parameters
    ----------
    output_size
        Height and width of an image.
    kernel_size
        Size of a block.
    dilation
        Step between elements of a block.
    padding
        Zeros around the image, which are cut off.
    stride
        Step between blocks.
    """

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(
        self, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """The sliding blocks of images, as columns. See `functional.unfold`.

    Parameters
    ----------
    kernel_size
        Size of a block.
    dilation
        Step between elements of a block.
    padding
        Zeros put around the image first.
    stride
        Step between blocks.
    """

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
