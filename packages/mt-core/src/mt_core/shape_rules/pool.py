"""Shape rules of pooling."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..dispatch.registry import register_shape_rule as shape_rule
from ..formats import channels_last_3d
from ..layout import channels_last_strides, strides_like, suggested_format
from ..spec import Spec, is_contiguous
from ..windows import pooled_size, windows_of

Ints = tuple[int, ...]


def _checked(
    self: Any, spatial: int, name: str, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> Ints:
    """Shape of the pooled tensor.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    shape = tuple(self._array.shape)
    if len(shape) not in (spatial + 1, spatial + 2):
        if name == "avg_pool2d":
            raise RuntimeError(_not_a_plane(shape))
        raise RuntimeError(f"non-empty {spatial + 1}D or {spatial + 2}D (batch mode) tensor expected for input")
    _check_window(kernel, stride, padding, dilation)
    _check_not_empty(shape, spatial, name)
    sizes = [
        pooled_size(shape[i - spatial], kernel[i], stride[i], padding[i], dilation[i], ceil_mode)
        for i in range(spatial)
    ]
    if any(n < 1 for n in sizes):
        if name == "avg_pool3d":
            raise RuntimeError(
                f"input image ({_pairs('', shape[-3:])}) smaller than kernel size ({_pairs('k', kernel)})"
            )
        inputs, outputs = "x".join(map(str, shape[-spatial - 1 :])), "x".join(map(str, (shape[-spatial - 1], *sizes)))
        raise RuntimeError(
            f"Given input size: ({inputs}). Calculated output size: ({outputs}). Output size is too small"
        )
    return (*shape[:-spatial], *sizes)


def _check_window(kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> None:
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    for k, p in zip(kernel, padding, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > k // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                f"dilation={dilation[0]}"
            )
    if any(k <= 0 for k in kernel):
        raise RuntimeError("kernel size should be greater than zero, but got " + _pairs("k", kernel))
    if any(s <= 0 for s in stride):
        raise RuntimeError("stride should be greater than zero, but got " + _pairs("d", stride))
    if any(d <= 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero, but got " + _pairs("dilation", dilation))


#: What PyTorch's three-dimensional pooling calls itself in its messages.
_CALLED = {"avg_pool3d": "avg_pool3d", "max_pool3d": "max_pool3d_with_indices_out_cpu_template"}


def _check_not_empty(shape: Ints, spatial: int, name: str) -> None:
    if 0 not in shape[-spatial - 1 :]:
        return
    if spatial == 3:
        raise RuntimeError(
            f"{_CALLED[name]}(): Expected input's non-batch dimensions to have positive length, but input has a "
            f"shape of {list(shape)} and non-batch dimension 0 has length zero!"
        )
    raise RuntimeError(_not_a_plane(shape))


def _not_a_plane(shape: Ints) -> str:
    return f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(shape)}"


def check_line(self: Any, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> None:
    """Refuse the arguments of `max_pool1d`, which has words of its own."""
    given = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    for what, value in given.items():
        if len(value) != 1 and (what != "stride" or len(value)):
            optional = "None, an int, list of ints, or" if what == "stride" else "an int, list of ints or"
            raise RuntimeError(
                f"max_pool1d() {what} must be {optional} tuple of ints of size 1 but got size {len(value)}"
            )
    kernel, step, border, spread = windows_of(1, kernel_size, stride, padding, dilation)
    _check_line_window(self, kernel[0], step[0], border[0], spread[0], ceil_mode)


def _check_line_window(self: Any, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> None:
    shape = tuple(self._array.shape)
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{list(shape)}"
        )
    for what, value in (("kernel_size", kernel), ("stride", stride)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {what} must be greater than zero, but got {value}")
    if padding < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > kernel // 2:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={padding} and "
            f"kernel_size={kernel}"
        )
    if dilation <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {dilation}")
    size = pooled_size(shape[-1], kernel, stride, padding, dilation, ceil_mode)
    if size < 1:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {size}")


def _checked_layout(self: Any, spatial: int, shape: Ints) -> Ints | None:
    """Strides of what `max_pool2d` and `max_pool3d` give: PyTorch's kernels know the layout of one rank each."""
    wanted = suggested_format(self)
    if spatial == 3 and _is_volume_with_channels_last(self):
        return channels_last_strides((1, *shape), channels_last_3d)[1:]
    if wanted is not None and self._array.ndim != spatial + 2:
        name = "ChannelsLast" if spatial == 2 else "ChannelsLast3d"
        raise RuntimeError(f"Unsupported memory format. Supports only {name}, Contiguous")
    return strides_like(self, shape)


def _is_volume_with_channels_last(self: Any) -> bool:
    """Whether a tensor (C, D, H, W) is one of a batch in channels_last_3d."""
    shape, strides = tuple(self._array.shape), self.stride()
    if len(shape) != 4 or is_contiguous(shape, strides):
        return False
    return strides == channels_last_strides((1, *shape), channels_last_3d)[1:]


def _pairs(prefix: str, values: Ints) -> str:
    return " ".join(f"{prefix}{axis}: {v}" for axis, v in zip(("T", "H", "W")[-len(values) :], values, strict=True))


_COUNTS = {2: "two", 3: "three"}


def check_counts(spatial: int, name: str, values: dict[str, Ints]) -> None:
    """Refuse window arguments that are neither one value nor one for each dimension.

    Raises
    ------
    RuntimeError
        In the words of the operator `name`.
    """
    for what, value in values.items():
        if len(value) in (1, spatial) or what == "stride" and not len(value):
            continue
        if spatial == 1:
            raise RuntimeError(f"{name}() argument '{what}' should contain one int (got {len(value)})")
        either = {"dilation": "be either", "stride": "either be omitted,"}.get(what, "either be")
        if name == "avg_pool3d":
            either = either.replace("either be", "be")
        raise RuntimeError(f"{name}: {what} must {either} a single int, or a tuple of {_COUNTS[spatial]} ints")


def _kept_layout(self: Any, spatial: int, shape: Ints) -> Ints | None:
    """Strides of a pooled tensor: averages, and adaptive ones, keep channels_last in two dimensions only."""
    return strides_like(self, shape) if spatial == 2 else None


def _declare_averages(spatial: int) -> None:
    name = f"avg_pool{spatial}d"

    @shape_rule(name)
    def avg(
        self: Any,
        kernel_size: Ints,
        stride: Ints,
        padding: Ints,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: Any,
    ) -> Spec:
        """self (N, C, *S) or (C, *S) -> (N, C, *T) or (C, *T), T the number of windows."""
        check_counts(spatial, name, {"kernel_size": kernel_size, "stride": stride, "padding": padding})
        kernel, step, border = windows_of(spatial, kernel_size, stride, padding)
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        if spatial == 2:
            self.size(-3)  # raises what PyTorch says of too few dimensions
        shape = _checked(self, spatial, name, kernel, step, border, (1,) * spatial, ceil_mode)
        return Spec(shape, self._dtype, _kept_layout(self, spatial, shape))

    @shape_rule(f"{name}_backward")
    def avg_backward(grad_output: Any, self: Any, *window: Any) -> Spec:
        """grad_output (N, C, *T) or (C, *T), self (N, C, *S) or (C, *S) -> like self."""
        shape = tuple(self._array.shape)
        return Spec(shape, grad_output._dtype, _kept_layout(self, spatial, shape))


def _declare_maxima(spatial: int) -> None:
    name = f"max_pool{spatial}d"

    @shape_rule(f"{name}_with_indices")
    def max_(
        self: Any, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
    ) -> tuple[Spec, Spec]:
        """self (N, C, *S) or (C, *S) -> values and places (int64), (N, C, *T) or (C, *T), T the number of windows."""
        check_counts(
            spatial, name, {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
        )
        kernel, step, border, spread = windows_of(spatial, kernel_size, stride, padding, dilation)
        shape = _checked(self, spatial, name, kernel, step, border, spread, ceil_mode)
        strides = _checked_layout(self, spatial, shape)
        return Spec(shape, self._dtype, strides), Spec(shape, dtypes.int64, strides)


def _declare_adaptive(spatial: int) -> None:
    @shape_rule(f"adaptive_max_pool{spatial}d")
    def maximum(self: Any, output_size: Ints) -> tuple[Spec, Spec]:
        """self (N, C, *S) or (C, *S) -> values and places (int64), (N, C, *output_size) or (C, *output_size)."""
        shape = adaptive_shape(self, output_size, spatial, f"adaptive_max_pool{spatial}d")
        strides = _kept_layout(self, spatial, shape)
        return Spec(shape, self._dtype, strides), Spec(shape, dtypes.int64, strides)

    @shape_rule(f"_adaptive_avg_pool{spatial}d")
    def average(self: Any, output_size: Ints) -> Spec:
        """self (N, C, *S) or (C, *S) -> (N, C, *output_size) or (C, *output_size)."""
        shape = adaptive_shape(self, tuple(output_size), spatial, f"adaptive_avg_pool{spatial}d")
        return Spec(shape, self._dtype, _kept_layout(self, spatial, shape))

    @shape_rule(f"_adaptive_avg_pool{spatial}d_backward")
    def average_backward(grad_output: Any, self: Any) -> Spec:
        """grad_output (N, C, *T) or (C, *T), self (N, C, *S) or (C, *S) -> like self."""
        check_adaptive_gradient(grad_output, f"adaptive_avg_pool{spatial}d_backward")
        shape = tuple(self._array.shape)
        return Spec(shape, grad_output._dtype, _kept_layout(self, spatial, shape))


def check_adaptive_gradient(grad_output: Any, name: str) -> None:
    """Refuse the gradient of an adaptively pooled tensor that is empty in other dimensions than the batch."""
    shape = list(grad_output._array.shape)
    if 0 in shape[1:]:
        raise RuntimeError(
            f"{name}(): Expected grad_output to have non-zero size for non-batch dimensions, but grad_output has sizes "
            f"{shape} with dimension {shape.index(0, 1)} being empty"
        )


def adaptive_shape(self: Any, output_size: Ints, spatial: int, name: str) -> Ints:
    """Shape of an adaptively pooled tensor."""
    shape, average = tuple(self._array.shape), name.startswith("adaptive_avg")
    _check_output_count(output_size, spatial, name)
    if len(shape) not in (spatial + 1, spatial + 2):
        if spatial == 1:
            raise RuntimeError(
                f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument #1 'self' "
                f"(while checking arguments for {name})"
            )
        got = f"got {list(shape)}" if average else f"got: {list(shape)}"
        raise RuntimeError(f"{name}(): Expected {spatial + 1}D or {spatial + 2}D tensor, but {got}")
    result = (*shape[:-spatial], *output_size)
    first = len(shape) - spatial if average and spatial < 3 else 1
    for at in range(first, len(shape)):
        if shape[at] == 0:
            # PyTorch averages a line as a plane of height 1.
            plane, sizes = (
                (name.replace("1d", "2d"), (*shape[:-1], 1, 0)) if name.endswith("avg_pool1d") else (name, shape)
            )
            raise RuntimeError(
                f"{plane}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(sizes)} with dimension {len(sizes) - len(shape) + at} being empty"
            )
    if math.prod(result) * self._dtype.itemsize >= 1 << 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(result)}")
    if any(n < 0 for n in output_size):
        if not average:
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(output_size)}: {list(result)}")
        # PyTorch averages a line as a plane of height 1.
        plane, sizes = (name.replace("1d", "2d"), (1, *output_size)) if spatial == 1 else (name, output_size)
        raise RuntimeError(
            f"{plane}: elements of output_size must be greater than or equal to 0 but received "
            f"{{{', '.join(map(str, sizes))}}}"
        )
    return result


def check_adaptive_average(self: Any, output_size: Ints, spatial: int) -> None:
    """What adaptive averages refuse before they look at the elements' dtype, or find that a plain mean will do."""
    _check_output_count(output_size, spatial, f"adaptive_avg_pool{spatial}d")
    if spatial == 1 and self._array.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {self._array.ndim}-dimensional tensor for argument #1 'self' "
            "(while checking arguments for adaptive_avg_pool1d)"
        )


def _check_output_count(output_size: Ints, spatial: int, name: str) -> None:
    if len(output_size) == spatial:
        return
    if spatial == 1:
        raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(output_size)})")
    if name.startswith("adaptive_avg"):
        raise RuntimeError(f"{name}: output_size must be {spatial}")
    raise RuntimeError(f"{name}(): internal error: output_size.size() must be {spatial}")


for _spatial in (2, 3):
    _declare_averages(_spatial)
    _declare_maxima(_spatial)
    _declare_adaptive(_spatial)
