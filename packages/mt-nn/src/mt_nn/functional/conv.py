"""Convolutions, and the conversions between images and their patches."""

import mt_core as mt
from mt_core import Tensor

from .._arguments import _pair

__all__ = ["fold", "unfold"]

IntOrPair = int | tuple[int, int]


def unfold(
    input: Tensor,
    kernel_size: IntOrPair,
    dilation: IntOrPair = 1,
    padding: IntOrPair = 0,
    stride: IntOrPair = 1,
) -> Tensor:
    """The sliding blocks of a batch of images, as columns.

    Parameters
    ----------
    input
        Shape (N, C, H, W) or (C, H, W).
    kernel_size
        Size of a block.
    dilation
        Step between elements of a block.
    padding
        Zeros put around the image first.
    stride
        Step between blocks.

    Returns
    -------
    Tensor
        Shape (N, C * elements of a block, number of blocks), without N for a single image.
    """
    return mt.im2col(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


def fold(
    input: Tensor,
    output_size: IntOrPair,
    kernel_size: IntOrPair,
    dilation: IntOrPair = 1,
    padding: IntOrPair = 0,
    stride: IntOrPair = 1,
) -> Tensor:
    """The images whose blocks are given as columns, overlapping values being summed; the adjoint of `unfold`.

    Parameters
    ----------
    input
        Shape (N, C * elements of a block, number of blocks), or without N.
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

    Returns
    -------
    Tensor
        Shape (N, C, H, W), without N for a single image.
    """
    return mt.col2im(input, _pair(output_size), _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))
