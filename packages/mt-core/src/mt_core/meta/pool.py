"""Shape rules of pooling."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..dispatch.registry import register_meta as meta
from ..spec import Spec

Ints = tuple[int, ...]


def pooled_size(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """Output size of a sliding window; with `ceil_mode` a last window may reach over the end, but must start inside."""
    span = n + 2 * padding - dilation * (kernel - 1) - 1
    size = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (size - 1) * stride >= n + padding:
        size -= 1
    return size


def _checked(self: Any, spatial: int, name: str, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Ints:
    """Shape of the pooled tensor.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    shape = tuple(self._array.shape)
    if len(shape) not in (spatial + 1, spatial + 2):
        raise RuntimeError(f"{name}(): Expected {spatial + 1}D or {spatial + 2}D input tensor, but got {list(shape)}" if spatial == 1 else
                           f"non-empty {spatial + 1}D or {spatial + 2}D (batch mode) tensor expected for input")  # fmt: skip
    if 0 in shape[-spatial - 1 :]:
        raise RuntimeError(f"Expected {spatial + 1}D or {spatial + 2}D (batch mode) tensor with optional 0 dim batch size for input, but got: {list(shape)}")
    if any(k <= 0 for k in kernel):
        raise RuntimeError("kernel size should be greater than zero, but got " + _pairs("k", kernel))
    if any(s <= 0 for s in stride):
        raise RuntimeError("stride should be greater than zero, but got " + _pairs("d", stride))
    if any(d <= 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero, but got " + _pairs("dilation", dilation))
    for k, p in zip(kernel, padding, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > k // 2:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={dilation[0]}")
    sizes = [pooled_size(shape[i - spatial], kernel[i], stride[i], padding[i], dilation[i], ceil_mode) for i in range(spatial)]
    if any(n < 1 for n in sizes):
        inputs, outputs = "x".join(map(str, shape[-spatial - 1 :])), "x".join(map(str, (shape[-spatial - 1], *sizes)))
        raise RuntimeError(f"Given input size: ({inputs}). Calculated output size: ({outputs}). Output size is too small")
    return (*shape[:-spatial], *sizes)


def _pairs(prefix: str, values: Ints) -> str:
    return " ".join(f"{prefix}{axis}: {v}" for axis, v in zip(("T", "H", "W")[-len(values) :], values, strict=True))


def windows_of(spatial: int, *values: Ints) -> list[Ints]:
    """Window arguments with one value for each dimension; an absent stride is the kernel size."""
    kernel = tuple(values[0]) * (spatial if len(values[0]) == 1 else 1)
    result = [kernel]
    for position, value in enumerate(values[1:]):
        if not len(value):
            result.append(kernel if position == 0 else (0,) * spatial)
        else:
            result.append(tuple(value) * (spatial if len(value) == 1 else 1))
    return result


def _declare(spatial: int) -> None:
    def avg(self: Any, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool, count_include_pad: bool, divisor_override: Any) -> Spec:
        kernel, step, border = windows_of(spatial, kernel_size, stride, padding)
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        return Spec(_checked(self, spatial, f"avg_pool{spatial}d", kernel, step, border, (1,) * spatial, ceil_mode), self._dtype)

    def max_(self: Any, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> tuple[Spec, Spec]:
        kernel, step, border, spread = windows_of(spatial, kernel_size, stride, padding, dilation)
        shape = _checked(self, spatial, f"max_pool{spatial}d", kernel, step, border, spread, ceil_mode)
        return Spec(shape, self._dtype), Spec(shape, dtypes.int64)

    def adaptive(self: Any, output_size: Ints) -> tuple[Spec, Spec]:
        shape = adaptive_shape(self, output_size, spatial, f"adaptive_max_pool{spatial}d")
        return Spec(shape, self._dtype), Spec(shape, dtypes.int64)

    if spatial > 1:
        meta(f"avg_pool{spatial}d")(avg)
        meta(f"avg_pool{spatial}d_backward")(lambda grad_output, self, *window: Spec(self._array.shape, grad_output._dtype))
    meta(f"max_pool{spatial}d_with_indices")(max_)
    meta(f"adaptive_max_pool{spatial}d")(adaptive)


def adaptive_shape(self: Any, output_size: Ints, spatial: int, name: str) -> Ints:
    """Shape of an adaptively pooled tensor."""
    shape = tuple(self._array.shape)
    if len(shape) not in (spatial + 1, spatial + 2):
        raise RuntimeError(f"{name}(): Expected {spatial + 1}D or {spatial + 2}D tensor, but got {list(shape)}")
    for i in range(spatial):
        at = len(shape) - spatial + i
        if shape[at] == 0:
            raise RuntimeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {list(shape)} with dimension {at} being empty")
    if any(n < 0 for n in output_size):
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0 but received {{{', '.join(map(str, output_size))}}}" if name.startswith("adaptive_avg") else "Trying to create tensor with negative dimension")
    return (*shape[:-spatial], *output_size)


for _spatial in (1, 2, 3):
    _declare(_spatial)
