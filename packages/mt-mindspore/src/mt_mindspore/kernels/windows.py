"""Convolution and pooling by strided views of all windows, on any device target."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mindspore
from mindspore import mint, ops

from mt_core.windows import pooled_size, windows_of

from ..registry import Table
from .common import _copied, found, operand

__all__ = ["TABLE"]

TABLE = Table()
kernel = TABLE.kernel
_strided = ops.auto_generate.as_strided
Ints = tuple[int, ...]


def padded(self: Any, dim: int, before: int, after: int, value: Any = 0) -> Any:
    """More elements of one value before and after those of a dimension; fewer where a count is negative."""
    if before < 0 or after < 0:
        kept = self.shape[dim] + min(before, 0) + min(after, 0)
        self = self.narrow(dim, -min(before, 0), kept)
    parts = [_block(self, dim, before, value), self, _block(self, dim, after, value)]
    kept_parts = [part.contiguous() for part in parts if part.shape[dim]]
    if not kept_parts:
        return self.contiguous()
    return kept_parts[0] if len(kept_parts) == 1 else mint.cat(kept_parts, dim)


def _block(self: Any, dim: int, count: int, value: Any) -> Any:
    """So many elements of one value along a dimension, none where the number is negative."""
    shape = list(self.shape)
    shape[dim] = max(count, 0)
    if not value:
        return mint.zeros(tuple(shape), dtype=self.dtype)
    return mint.broadcast_to(mindspore.Tensor(value, self.dtype), tuple(shape)).contiguous()


def bordered(self: Any, padding: Ints, value: Any = 0) -> Any:
    """The last dimensions with a border on both sides."""
    lead = self.ndim - len(padding)
    for i, p in enumerate(padding):
        if p:
            self = padded(self, lead + i, p, p, value)
    return self


def windows(self: Any, kernel_size: Ints, stride: Ints, dilation: Ints) -> Any:
    """A view (..., out1, out2 ..., k1, k2 ...) of all windows over the last dimensions."""
    self = self.contiguous()
    lead = self.ndim - len(kernel_size)
    steps = tuple(self.stride())
    sizes = [
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(self.shape[lead:], kernel_size, stride, dilation, strict=True)
    ]
    outer = [b * s for b, s in zip(steps[lead:], stride, strict=True)]
    inner = [b * d for b, d in zip(steps[lead:], dilation, strict=True)]
    shape = (*self.shape[:lead], *sizes, *kernel_size)
    return _strided(self, shape, (*steps[:lead], *outer, *inner), self.storage_offset())


def correlate(x: Any, w: Any, stride: Ints, dilation: Ints, groups: int) -> Any:
    """Cross-correlation without padding: x (N, C, *S), w (O, C/G, *K) -> (N, O, *T)."""
    n, channels = x.shape[:2]
    kernel_size, spatial, outputs = tuple(w.shape[2:]), w.ndim - 2, w.shape[0]
    sizes = [
        (size - d * (k - 1) - 1) // s + 1
        for size, k, s, d in zip(x.shape[2:], kernel_size, stride, dilation, strict=True)
    ]
    if not n or not channels or not outputs or 0 in sizes:
        return mint.zeros((n, outputs if channels else 0, *sizes), dtype=x.dtype)
    view = windows(x, kernel_size, stride, dilation)
    view = view.contiguous().reshape((n, groups, channels // groups, *sizes, *kernel_size))
    places, of_kernel = range(3, 3 + spatial), range(3 + spatial, 3 + 2 * spatial)
    rows = mint.permute(view, (1, 0, *places, 2, *of_kernel)).contiguous()
    width = channels // groups * math.prod(kernel_size)
    rows = rows.reshape((groups, n * math.prod(sizes), width))
    factors = w.contiguous().reshape((groups, outputs // groups, width)).swapaxes(1, 2)
    product = mint.matmul(rows, factors.contiguous()).reshape((groups, n, *sizes, outputs // groups))
    order = (1, 0, 2 + spatial, *range(2, 2 + spatial))
    return mint.permute(product, order).contiguous().reshape((n, outputs, *sizes))


def spaced(x: Any, dim: int, step: int, extra: int) -> Any:
    """step - 1 zeros between neighbours of a dimension, and `extra` after the last."""
    n = x.shape[dim]
    if step > 1 and n > 1:
        shape = list(x.shape)
        stacked = x.contiguous().reshape((*shape[: dim + 1], 1, *shape[dim + 1 :]))
        gaps = mint.zeros((*shape[: dim + 1], step - 1, *shape[dim + 1 :]), dtype=x.dtype)
        shape[dim] = n * step
        x = mint.cat([stacked, gaps], dim + 1).reshape(tuple(shape)).narrow(dim, 0, (n - 1) * step + 1)
    return padded(x, dim, 0, extra) if extra else x


def adjoint(
    x: Any, w: Any, stride: Ints, padding: Ints, dilation: Ints, output_padding: Ints, groups: int
) -> Any:  # fmt: skip
    """Transposed convolution.

    Correlation of the spaced input with the flipped weights, inputs and outputs exchanged.
    """
    spatial = w.ndim - 2
    for i in range(spatial):
        border = dilation[i] * (w.shape[2 + i] - 1) - padding[i]
        x = spaced(x, 2 + i, stride[i], 0)
        if border or output_padding[i]:
            x = padded(x, 2 + i, border, border + output_padding[i])
    flipped = ops.flip(w.contiguous(), tuple(range(2, 2 + spatial)))
    per_group, kernel_size = w.shape[0] // groups, tuple(w.shape[2:])
    exchanged = flipped.reshape((groups, per_group, w.shape[1], *kernel_size)).swapaxes(1, 2).contiguous()
    exchanged = exchanged.reshape((groups * w.shape[1], per_group, *kernel_size))
    return correlate(x, exchanged, (1,) * spatial, dilation, groups)


@kernel("convolution", takes="ilfdFD")
def convolution(
    input: Any, weight: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
    output_padding: Ints, groups: int,
) -> Any:  # fmt: skip
    """input (N, C, *S), weight (O, C/groups, *K), bias (O,) -> (N, O, *T); transposed: weight (C, O/groups, *K)."""
    if transposed:
        out = adjoint(input, weight, stride, padding, dilation, output_padding, groups)
    else:
        out = correlate(bordered(input, padding), weight, stride, dilation, groups)
    if bias is None or not out.size:
        return out
    return mint.add(out, bias.reshape((1, -1, *[1] * (out.ndim - 2))))


@kernel("constant_pad_nd", half="native")
def constant_pad_nd(self: Any, pad: Ints, value: Any) -> Any:
    """self (*L, *S) -> (*L, *T): `pad` begins with the last dimension."""
    for i in range(len(pad) // 2):
        before, after = pad[2 * i : 2 * i + 2]
        if before or after:
            self = padded(self, self.ndim - 1 - i, before, after, value)
    return _copied(self.contiguous())


@kernel("im2col", half="native")
def im2col(self: Any, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    """self (N, C, H, W) or (C, H, W) -> (N, C KH KW, L) or (C KH KW, L)."""
    batch = self if self.ndim == 4 else self.reshape((1, *self.shape))
    view = windows(bordered(batch, padding), kernel_size, stride, dilation)
    sizes, (n, channels) = view.shape[2:4], batch.shape[:2]
    columns = mint.permute(view, (0, 1, 4, 5, 2, 3)).contiguous()
    columns = columns.reshape((n, channels * math.prod(kernel_size), math.prod(sizes)))
    return _copied(columns if self.ndim == 4 else columns.reshape(tuple(columns.shape[1:])))


def laid(part: Any, whole: Ints, at: Ints, stride: Ints) -> Any:
    """Elements of the last dimensions, `stride` apart from `at` on, in zeros of a size."""
    lead = part.ndim - len(whole)
    for i, (n, o, s) in enumerate(zip(whole, at, stride, strict=True)):
        part = spaced(part, lead + i, s, 0)
        part = padded(part, lead + i, o, n - o - part.shape[lead + i])
    return part


@kernel("col2im", takes="fdFD")
def col2im(self: Any, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    """self (N, C KH KW, L) or (C KH KW, L) -> (N, C, H, W) or (C, H, W), where (H, W) is `output_size`."""
    batch = self if self.ndim == 3 else self.reshape((1, *self.shape))
    n, channels = batch.shape[0], batch.shape[1] // math.prod(kernel_size)
    whole = tuple(o + 2 * p for o, p in zip(output_size, padding, strict=True))
    places = tuple(
        (w - d * (k - 1) - 1) // s + 1 for w, k, d, s in zip(whole, kernel_size, dilation, stride, strict=True)
    )
    columns = batch.contiguous().reshape((n, channels, math.prod(kernel_size), *places))
    out = None
    for i, offset in enumerate(itertools.product(*[range(k) for k in kernel_size])):
        part = columns.narrow(2, i, 1).contiguous().reshape((n, channels, *places))
        part = laid(part, whole, tuple(o * d for o, d in zip(offset, dilation, strict=True)), stride)
        out = part if out is None else mint.add(out, part)
    out = _inner(out, padding, output_size)
    return _copied(out if self.ndim == 3 else out.reshape(tuple(out.shape[1:])))


def _inner(self: Any, begin: Ints, sizes: Ints) -> Any:
    lead = self.ndim - len(sizes)
    for i, (b, n) in enumerate(zip(begin, sizes, strict=True)):
        self = self.narrow(lead + i, b, n)
    return self.contiguous()


# Pooling


class Geometry:
    """The windows of a pooling call."""

    def __init__(self, self_: Any, spatial: int, ceil_mode: bool, *window: Ints) -> None:
        values = windows_of(spatial, *window)
        self.kernel_size, self.stride, self.padding = values[:3]
        self.dilation = values[3] if len(values) > 3 else (1,) * spatial
        self.spatial = spatial
        self.input_sizes = tuple(self_.shape[self_.ndim - spatial :])
        self.sizes = tuple(
            pooled_size(n, k, s, p, d, ceil_mode)
            for n, k, s, p, d in zip(
                self.input_sizes, self.kernel_size, self.stride, self.padding, self.dilation, strict=True
            )
        )

    def border(self) -> list[tuple[int, int]]:
        """How much each dimension needs before and after it, which is more in ceil mode."""
        found = []
        for n, size, k, s, p, d in zip(
            self.input_sizes, self.sizes, self.kernel_size, self.stride, self.padding, self.dilation, strict=True
        ):
            found.append((p, max(p, (size - 1) * s + d * (k - 1) + 1 - n - p)))
        return found

    def windows(self, tensor: Any, value: Any) -> Any:
        """All windows of a tensor, (*L, *sizes, K)."""
        lead = tensor.ndim - self.spatial
        for i, (before, after) in enumerate(self.border()):
            if before or after:
                tensor = padded(tensor, lead + i, before, after, value)
        view = windows(tensor, self.kernel_size, self.stride, self.dilation)
        for i, size in enumerate(self.sizes):
            view = view.narrow(lead + i, 0, size)
        shape = (*tensor.shape[:lead], *self.sizes, math.prod(self.kernel_size))
        return view.contiguous().reshape(shape)

    def divisors(self, include_pad: bool, override: Any, like: Any) -> Any:
        """How many elements each window averages over, (*sizes), as a tensor of a dtype."""
        if override is not None:
            return mindspore.Tensor(override, like.dtype)
        counts = []
        for n, size, k, s, p in zip(
            self.input_sizes, self.sizes, self.kernel_size, self.stride, self.padding, strict=True
        ):
            spans = [(i * s - p, min(i * s - p + k, n + p)) for i in range(size)]
            counts.append([end - start if include_pad else min(end, n) - max(start, 0) for start, end in spans])
        numbers = [math.prod(choice) for choice in itertools.product(*counts)]
        return mindspore.Tensor(numbers, like.dtype).reshape(self.sizes)


def _average(spatial: int) -> None:
    @kernel(f"avg_pool{spatial}d", takes="fd")
    def avg_pool(
        self: Any, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool, count_include_pad: bool,
        divisor_override: Any,
    ) -> Any:  # fmt: skip
        place = Geometry(self, spatial, ceil_mode, kernel_size, stride, padding)
        total = mint.sum(place.windows(self, 0), -1)
        return mint.div(total, place.divisors(count_include_pad, divisor_override, self))

    @kernel(f"avg_pool{spatial}d_backward", takes="fd")
    def avg_pool_backward(
        grad_output: Any, self: Any, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool,
        count_include_pad: bool, divisor_override: Any,
    ) -> Any:  # fmt: skip
        place = Geometry(self, spatial, ceil_mode, kernel_size, stride, padding)
        share = mint.div(grad_output, place.divisors(count_include_pad, divisor_override, self))
        whole = tuple(n + b + a for n, (b, a) in zip(place.input_sizes, place.border(), strict=True))
        out = None
        for offset in itertools.product(*[range(k) for k in place.kernel_size]):
            part = laid(share, whole, offset, place.stride)
            out = part if out is None else mint.add(out, part)
        return _copied(_inner(out, place.padding, place.input_sizes))


def _maximum(spatial: int) -> None:
    @kernel(f"max_pool{spatial}d_with_indices", takes="fd")
    def max_pool(self: Any, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Any:
        place = Geometry(self, spatial, ceil_mode, kernel_size, stride, padding, dilation)
        values, chosen = found(mint.max, place.windows(self, float("-inf")), -1, False)
        index = None
        within = place.kernel_size
        for i in range(spatial):
            inner = math.prod(within[i + 1 :])
            at = mint.remainder(mint.floor_divide(chosen, operand(inner, chosen)), operand(within[i], chosen))
            first = mint.mul(ops.arange(place.sizes[i]), operand(place.stride[i], chosen))
            begins = mint.sub(first, operand(place.padding[i], chosen)).reshape((-1, *[1] * (spatial - 1 - i)))
            along = mint.add(mint.mul(at, operand(place.dilation[i], chosen)), begins)
            size = operand(place.input_sizes[i], chosen)
            index = along if index is None else mint.add(mint.mul(index, size), along)
        return values, index


for _spatial in (2, 3):
    _average(_spatial)
    _maximum(_spatial)
