"""Shape rules of convolutions."""

from __future__ import annotations

from typing import Any

from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import bfloat16, cpp_type_name, dtype, float16, float32, scalar_type_name, tensor_type_name
from ..layout import channels_last_strides, suggested_format
from ..spec import Spec

Ints = tuple[int, ...]


def conv_size(n: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Output size of a convolution along one dimension."""
    return (n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def transposed_size(n: int, kernel: int, stride: int, padding: int, dilation: int, output_padding: int) -> int:
    """Output size of a transposed convolution along one dimension."""
    return (n - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1


def check_bias_dtype(input: Any, bias: Any) -> None:
    """What the convolutions of a number of dimensions look at before any other."""
    if bias is not None and bias._dtype is not input._dtype:
        names = cpp_type_name(input._dtype), cpp_type_name(bias._dtype)
        raise RuntimeError(f"Input type ({names[0]}) and bias type ({names[1]}) should be the same")


def _same_dtype(input: Any, weight: Any, bias: Any, kernels: bool) -> None:
    """Refuse a weight or a bias of another dtype; of some dtypes, only `kernels` do so."""
    for name, other in (("weight", weight), ("bias", bias)):
        if other is not None and other._dtype is not input._dtype:
            words = _unlike(input._dtype, other._dtype, name)
            if kernels or words.endswith("should be the same"):
                raise RuntimeError(words)


def _unlike(input: dtype, other: dtype, name: str) -> str:
    """PyTorch's words, which depend on the kernel that would run: of networks' dtypes, of complex ones, of the rest."""
    words = f"Input type ({tensor_type_name(input)}) and {name} type ({tensor_type_name(other)}) should be the same"
    if input in (float32, float16, bfloat16):
        return f"{words} or input should be a MKLDNN tensor and {name} is a dense tensor"
    if input.is_complex or other.is_complex:
        return words
    return f"expected scalar type {scalar_type_name(input)} but found {scalar_type_name(other)}"


def _per_dimension(name: str, values: Ints, spatial: int) -> Ints:
    """One value for each spatial dimension; a single one is that of all."""
    if len(values) == 1:
        return tuple(values) * spatial
    if len(values) != spatial:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {spatial} values to match the convolution "
            f"dimensions, but got {name}={list(values)}"
        )
    return tuple(values)


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
    """input (N, C, *S), weight (O, C/groups, *K), bias (O,) -> (N, O, *T); transposed: weight (C, O/groups, *K).

    Without input channels there are no output channels either, as in PyTorch: (N, 0, *T).
    """
    x, w = tuple(input._array.shape), tuple(weight._array.shape)
    if len(w) < 3:
        raise RuntimeError("weight should have at least three dimensions")
    spatial = len(w) - 2
    stride = _per_dimension("stride", stride, spatial)
    padding = _per_dimension("padding", padding, spatial)
    dilation = _per_dimension("dilation", dilation, spatial)
    output_padding = _per_dimension("output_padding", output_padding, spatial)
    _check_parameters(stride, padding, dilation, output_padding, groups)
    if len(x) != len(w):
        raise RuntimeError(
            f"Expected {len(w)}-dimensional input for {len(w)}-dimensional weight {list(w)}, but got "
            f"{len(x)}-dimensional input of size {list(x)} instead"
        )
    _check_channels(x, w, bias, transposed, groups)
    _same_dtype(input, weight, bias, kernels=False)
    if 0 in dilation:
        raise RuntimeError("non-positive dilation is not supported")
    if transposed:
        sizes = _transposed_sizes(x, w, stride, padding, dilation, output_padding)
        result = (x[0], w[1] * groups, *sizes)
    else:
        result = (x[0], w[0] if x[1] else 0, *_sizes(x, w, stride, padding, dilation))
    _same_dtype(input, weight, bias, kernels=True)
    normalized = {"stride": stride, "padding": padding, "dilation": dilation, "output_padding": output_padding}
    return Spec(result, input._dtype, _layout(input, weight, result, transposed), arguments=normalized)


def _layout(input: Any, weight: Any, shape: Ints, transposed: bool) -> Ints | None:
    """Strides of the result: channels_last where the input or the weight is; of lines, where both have it as images."""
    if len(shape) == 3:
        both = suggested_format(_as_image(input)) and suggested_format(_as_image(weight))
        return (shape[1] * shape[2], 1, shape[1]) if both else None
    wanted = suggested_format(input) or suggested_format(weight)
    return None if wanted is None else channels_last_strides(shape, wanted)


def _as_image(line: Any) -> Spec:
    """Of (N, C, L), shape and strides as (N, C, 1, L)."""
    shape, strides = tuple(line._array.shape), line.stride()
    return Spec((*shape[:2], 1, shape[2]), line._dtype, (*strides[:2], shape[2] * strides[2], strides[2]))


def _sizes(x: Ints, w: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """Spatial sizes (*T) of a convolution of x (N, C, *S) by w (O, C/groups, *K)."""
    spatial = range(len(w) - 2)
    padded = [x[i + 2] + 2 * padding[i] for i in spatial]
    extent = [dilation[i] * (w[i + 2] - 1) + 1 for i in spatial]
    if any(p < e for p, e in zip(padded, extent, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
            f"({' x '.join(map(str, extent))}). "
            "Kernel size can't be greater than actual input size"
        )
    _check_elements(x, w)
    return tuple(conv_size(x[i + 2], w[i + 2], stride[i], padding[i], dilation[i]) for i in spatial)


def _transposed_sizes(x: Ints, w: Ints, stride: Ints, padding: Ints, dilation: Ints, output_padding: Ints) -> Ints:
    """Spatial sizes (*T) of a transposed convolution of x (N, C, *S) by w (C, O/groups, *K)."""
    spatial = range(len(w) - 2)
    _check_elements(x, w)
    if any(output_padding[i] >= max(stride[i], dilation[i]) for i in spatial):
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got "
            + " ".join(
                f"{name}_{side}: {value}"
                for name, values in (("output_padding", output_padding), ("stride", stride), ("dilation", dilation))
                for side, value in zip(_SIDES[-max(len(w) - 2, 2) :], _two(values, name), strict=True)
            )
        )
    sizes = tuple(
        transposed_size(x[i + 2], w[i + 2], stride[i], padding[i], dilation[i], output_padding[i]) for i in spatial
    )
    if any(n <= 0 for n in sizes):
        height = (1,) if spatial == range(1) else ()
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, height + x[2:]))}). Calculated output size per "
            f"channel: ({' x '.join(map(str, height + sizes))}). Output size is too small"
        )
    return sizes


_SIDES = ("depth", "height", "width")


def _two(values: Ints, name: str) -> Ints:
    """A single dimension is the width of two, whose height does nothing."""
    return (int(name != "output_padding"), *values) if len(values) == 1 else values


def _check_elements(x: Ints, w: Ints) -> None:
    if 0 in x[2:]:
        shape = [*x[:2], 1, *x[2:]] if len(x) == 3 else list(x)  # one dimension is the width of two
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {shape}")
    if 0 in w[2:]:
        raise RuntimeError(f"a weight of size {list(w)} has no window")


def _check_parameters(stride: Ints, padding: Ints, dilation: Ints, output_padding: Ints, groups: int) -> None:
    """Dilations of zero are refused later, as in PyTorch."""
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(p < 0 for p in output_padding):
        raise RuntimeError("negative output_padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d < 0 for d in dilation):
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
        given = "Given transposed=1, weight" if transposed else "Given weight"
        raise RuntimeError(
            f"{given} of size {list(w)}, expected bias to be 1-dimensional with {outputs} elements, but got bias of "
            f"size {list(bias.shape)} instead"
        )


def _blocks(size: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Ints:
    return tuple(conv_size(size[i], kernel[i], stride[i], padding[i], dilation[i]) for i in range(2))


def _check_window(output_size: Any, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> None:
    """Two positive values of each argument; paddings may be zero."""
    given = {
        "output_size": output_size,
        "kernel_size": kernel,
        "dilation": dilation,
        "padding": padding,
        "stride": stride,
    }
    for argument, values in given.items():
        if values is not None and len(values) != 2:
            raise RuntimeError(f"It is expected {argument} equals to 2, but got size {len(values)}")
    _check_pair("kernel size should be greater than zero", "kernel", kernel, 1)
    _check_pair("dilation should be greater than zero", "dilation", dilation, 1)
    _check_pair("padding should be non-negative", "pad", padding, 0)
    _check_pair("stride should be greater than zero", "stride", stride, 1)


def _check_pair(words: str, name: str, values: Ints, least: int) -> None:
    if min(values) < least:
        raise RuntimeError(f"{words}, but got {name}_height: {values[0]} {name}_width: {values[1]}")


@shape_rule("im2col")
def im2col(self: Any, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Spec:
    """self (N, C, H, W) or (C, H, W) -> (N, C KH KW, L) or (C KH KW, L); L counts the places of the window."""
    shape = tuple(self._array.shape)
    _check_window(None, kernel_size, dilation, padding, stride)
    if len(shape) < 3:
        for dim in (1, 2):
            if not self.size(dim):  # raises what PyTorch says of too few dimensions, where none is empty
                break
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(shape)}"
        )
    blocks = _blocks(shape[-2:], kernel_size, dilation, padding, stride)
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(shape[-2:])}, kernel_size={tuple(kernel_size)}, "
            f"dilation={tuple(dilation)}, padding={tuple(padding)}, calculated shape of the array of sliding blocks as "
            f"{blocks}, but its components must be at least one."
        )
    return Spec((*shape[:-3], shape[-3] * kernel_size[0] * kernel_size[1], blocks[0] * blocks[1]), self._dtype)


@shape_rule("col2im")
def col2im(self: Any, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Spec:
    """self (N, C KH KW, L) or (C KH KW, L) -> (N, C, H, W) or (C, H, W), where (H, W) is `output_size`."""
    shape = tuple(self._array.shape)
    _check_window(output_size, kernel_size, dilation, padding, stride)
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
