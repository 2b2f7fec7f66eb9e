"""Shape rules of convolutions."""

from __future__ import annotations

from typing import Any

from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import c_type_name, scalar_type_name
from ..spec import Spec

Ints = tuple[int, ...]


def conv_size(n: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Output size of a convolution along one dimension."""
    return (n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def transposed_size(n: int, kernel: int, stride: int, padding: int, dilation: int, output_padding: int) -> int:
    """Output size of a transposed convolution along one dimension."""
    return (n - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1


def _same_dtype(input: Any, weight: Any, bias: Any) -> None:
    if input._dtype is not weight._dtype:
        raise RuntimeError(f"Input type ({_c_name(input)}) and weight type ({_c_name(weight)}) should be the same")
    if bias is not None and bias._dtype is not input._dtype:
        raise RuntimeError(f"Input type ({_c_name(input)}) and bias type ({_c_name(bias)}) should be the same")


def _c_name(tensor: Any) -> str:
    return c_type_name(tensor._dtype) if tensor._dtype.native else scalar_type_name(tensor._dtype)


@shape_rule("convolution")
def convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> Spec:
    """input (N, C, *S), weight (O, C/groups, *K), bias (O,) -> (N, O, *T); transposed: weight (C, O/groups, *K)."""
    x, w = tuple(input._array.shape), tuple(weight._array.shape)
    spatial = len(w) - 2
    _check_parameters(stride, padding, dilation, output_padding, groups)
    if len(w) < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if len(x) != len(w):
        raise RuntimeError(
            f"Expected {len(w)}-dimensional input for {len(w)}-dimensional weight {list(w)}, but got "
            f"{len(x)}-dimensional input of size {list(x)} instead"
        )
    _same_dtype(input, weight, bias)
    _check_channels(x, w, bias, transposed, groups)
    if transposed:
        sizes = [
            transposed_size(x[i + 2], w[i + 2], stride[i], padding[i], dilation[i], output_padding[i])
            for i in range(spatial)
        ]
        if any(n <= 0 for n in sizes):
            raise RuntimeError(
                f"Given input size per channel: ({' x '.join(map(str, x[2:]))}). Calculated output size per "
                f"channel: ({' x '.join(map(str, sizes))}). Output size is too small"
            )
        return Spec((x[0], w[1] * groups, *sizes), input._dtype)
    padded = [x[i + 2] + 2 * padding[i] for i in range(spatial)]
    extent = [dilation[i] * (w[i + 2] - 1) + 1 for i in range(spatial)]
    if any(p < e for p, e in zip(padded, extent, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
            f"({' x '.join(map(str, extent))}). "
            "Kernel size can't be greater than actual input size"
        )
    sizes = [conv_size(x[i + 2], w[i + 2], stride[i], padding[i], dilation[i]) for i in range(spatial)]
    return Spec((x[0], w[0], *sizes), input._dtype)


def _check_parameters(stride: Ints, padding: Ints, dilation: Ints, output_padding: Ints, groups: int) -> None:
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(p < 0 for p in output_padding):
        raise RuntimeError("negative output_padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def _check_channels(x: Ints, w: Ints, bias: Any, transposed: bool, groups: int) -> None:
    if w[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of "
            f"size {list(w)} instead"
        )
    if w[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight "
            f"of size {list(w)} instead"
        )
    if transposed:
        if x[1] != w[0]:
            raise RuntimeError(
                f"Given transposed=1, weight of size {list(w)}, expected input{list(x)} to have {w[0]} channels, "
                f"but got {x[1]} channels instead"
            )
        outputs = w[1] * groups
    else:
        if x[1] != w[1] * groups:
            raise RuntimeError(
                f"Given groups={groups}, weight of size {list(w)}, expected input{list(x)} to have "
                f"{w[1] * groups} channels, but got {x[1]} channels instead"
            )
        outputs = w[0]
    if bias is not None and tuple(bias._array.shape) != (outputs,):
        raise RuntimeError(
            f"Given transposed={int(transposed)}, weight of size {list(w)}, expected bias to be 1-dimensional with "
            f"{outputs} elements, but got bias of size {list(bias.shape)} instead"
        )


def _blocks(size: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Ints:
    return tuple(conv_size(size[i], kernel[i], stride[i], padding[i], dilation[i]) for i in range(2))


@shape_rule("im2col")
def im2col(self: Any, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Spec:
    """self (N, C, H, W) or (C, H, W) -> (N, C KH KW, L) or (C KH KW, L); L counts the places of the window."""
    shape = tuple(self._array.shape)
    for name, values, least in (("kernel", kernel_size, 1), ("dilation", dilation, 1), ("stride", stride, 1)):
        if min(values) < least:
            raise RuntimeError(
                f"{name} should be greater than zero, but got {name}_height: {values[0]} {name}_width: {values[1]}"
                if name != "kernel"
                else f"kernel size should be greater than zero, but got kernel_height: {values[0]} kernel_width: "
                f"{values[1]}"
            )
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(shape)}"
        )
    blocks = _blocks(shape[-2:], kernel_size, dilation, padding, stride)
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(shape[-2:])}, kernel_size={tuple(kernel_size)}, "
            f"dilation={tuple(dilation)}, padding={tuple(padding)}, "
            f"stride={tuple(stride)}, calculated shape of the array of sliding blocks as {blocks}, but its "
            "components must be at least one."
        )
    return Spec((*shape[:-3], shape[-3] * kernel_size[0] * kernel_size[1], blocks[0] * blocks[1]), self._dtype)


@shape_rule("col2im")
def col2im(self: Any, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Spec:
    """self (N, C KH KW, L) or (C KH KW, L) -> (N, C, H, W) or (C, H, W), where (H, W) is `output_size`."""
    shape = tuple(self._array.shape)
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions "
            f"for input, but got: {list(shape)}"
        )
    area = kernel_size[0] * kernel_size[1]
    if shape[-2] % area:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={shape[-2]} and kernel_size=({kernel_size[0]}, {kernel_size[1]})."
        )
    blocks = _blocks(output_size, kernel_size, dilation, padding, stride)
    if blocks[0] * blocks[1] != shape[-1]:
        raise RuntimeError(
            f"Given output_size=({output_size[0]}, {output_size[1]}), kernel_size=({kernel_size[0]}, "
            f"{kernel_size[1]}), dilation=({dilation[0]}, {dilation[1]}), "
            f"padding=({padding[0]}, {padding[1]}), stride=({stride[0]}, {stride[1]}), expected size of input's "
            "dimension 2 to match the calculated number of sliding "
            f"blocks {blocks[0]} * {blocks[1]} = {blocks[0] * blocks[1]}, but got input.size(2)={shape[-1]}."
        )
    return Spec((*shape[:-2], shape[-2] // area, *output_size), self._dtype)
