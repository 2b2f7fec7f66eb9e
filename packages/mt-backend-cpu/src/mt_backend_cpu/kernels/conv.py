"""Convolutions over NumPy: sliding windows as the rows of a matrix product; groups as a stack of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..registry import kernel

Ints = tuple[int, ...]


def padded(array: np.ndarray, padding: Ints, value: Any = 0) -> np.ndarray:
    """The array with its last dimensions padded on both sides."""
    if not any(padding):
        return array
    lead = array.ndim - len(padding)
    return np.pad(array, [(0, 0)] * lead + [(p, p) for p in padding], constant_values=value)


def windows(array: np.ndarray, kernel_size: Ints, stride: Ints, dilation: Ints) -> np.ndarray:
    """A read-only view (..., out1, out2 ..., k1, k2 ...) of all windows over the last dimensions."""
    spatial = len(kernel_size)
    shape, strides = array.shape[-spatial:], array.strides[-spatial:]
    sizes = tuple(
        (n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(shape, kernel_size, stride, dilation, strict=True)
    )
    steps = tuple(b * s for b, s in zip(strides, stride, strict=True))
    inner = tuple(b * d for b, d in zip(strides, dilation, strict=True))
    return np.lib.stride_tricks.as_strided(
        array,
        (*array.shape[:-spatial], *sizes, *kernel_size),
        (*array.strides[:-spatial], *steps, *inner),
        writeable=False,
    )


#: Bytes of the matrix of all windows; a larger one is made in blocks.
_LARGEST = 1 << 30
#: Bytes of the windows of those groups that are multiplied at once.
_TOGETHER = 1 << 19


def _correlate(x: np.ndarray, w: np.ndarray, stride: Ints, dilation: Ints, groups: int) -> np.ndarray:
    """Cross-correlation without padding; with a single group, the result's channels lie innermost."""
    n, channels = x.shape[:2]
    kernel_size = w.shape[2:]
    spatial = len(kernel_size)
    view = windows(x, kernel_size, stride, dilation)
    sizes = view.shape[2 : 2 + spatial]
    if not n or not channels:  # without channels, the result has none either
        return np.empty((n, w.shape[0] if channels else 0, *sizes), x.dtype)
    bytes_of_place = n * math.prod(sizes[1:]) * (channels // groups) * math.prod(kernel_size) * x.itemsize
    at_once = max(1, _LARGEST // max(1, bytes_of_place))
    if at_once < sizes[0]:
        return _in_blocks(x, w, stride, dilation, groups, at_once)
    if groups > 1:
        return _correlate_groups(x, w, stride, dilation, groups)
    outputs = w.shape[0]
    order = (0, *range(2, 2 + spatial), 1, *range(2 + spatial, 2 + 2 * spatial))
    rows = view.transpose(order).reshape(n * math.prod(sizes), channels * math.prod(kernel_size))
    product = rows @ w.reshape(outputs, rows.shape[1]).T
    if math.prod(sizes) == 1 or outputs == 1:
        return product.reshape(n, outputs, *sizes)
    return np.moveaxis(product.reshape(n, *sizes, outputs), -1, 1)


def _correlate_groups(x: np.ndarray, w: np.ndarray, stride: Ints, dilation: Ints, groups: int) -> np.ndarray:
    """`_correlate` of several groups: a stack of products of weights (O/G, C/G K) and windows (C/G K, N T).

    As many groups are taken at a time as fit a cache. Windows are copied in runs: along the places T, or along the
    kernel K where that is wider, as in the gradient of weights.
    """
    n, spatial = x.shape[0], w.ndim - 2
    per_group, outputs = x.shape[1] // groups, w.shape[0] // groups
    view = windows(x.reshape(n, groups, per_group, *x.shape[2:]), w.shape[2:], stride, dilation)
    sizes = view.shape[3 : 3 + spatial]
    of_places, of_kernel = range(3, 3 + spatial), range(3 + spatial, 3 + 2 * spatial)
    along_places = sizes[-1] >= w.shape[-1]
    view = view.transpose(1, *((2, *of_kernel, 0, *of_places) if along_places else (0, *of_places, 2, *of_kernel)))
    inner, places = per_group * math.prod(w.shape[2:]), math.prod(sizes)
    factors = w.reshape(groups, outputs, inner)
    out = np.empty((n, groups, outputs, places), x.dtype)
    at_once = max(1, _TOGETHER // max(1, inner * n * places * x.itemsize))
    for first in range(0, groups, at_once):
        chosen = slice(first, min(first + at_once, groups))
        count = chosen.stop - first
        if along_places:
            columns = view[chosen].reshape(count, inner, n * places)
        else:
            columns = view[chosen].reshape(count, n * places, inner).swapaxes(1, 2)
        product = factors[chosen] @ columns
        out[:, chosen] = product.reshape(count, outputs, n, places).transpose(2, 0, 1, 3)
    return out.reshape(n, w.shape[0], *sizes)


def _in_blocks(x: np.ndarray, w: np.ndarray, stride: Ints, dilation: Ints, groups: int, at_once: int) -> np.ndarray:
    """`_correlate` with so many places of the first spatial dimension at a time: the rows of all would not fit."""
    places = (x.shape[2] - dilation[0] * (w.shape[2] - 1) - 1) // stride[0] + 1
    reach = dilation[0] * (w.shape[2] - 1) + 1
    parts = []
    for first in range(0, places, at_once):
        last = min(first + at_once, places) - 1
        part = x[:, :, first * stride[0] : last * stride[0] + reach]
        parts.append(_correlate(part, w, stride, dilation, groups))
    return np.concatenate(parts, axis=2)


def _spaced(x: np.ndarray, stride: Ints, extra: Ints) -> np.ndarray:
    """The array with stride - 1 zeros between neighbours, and `extra` zeros after the last."""
    if all(s == 1 for s in stride) and not any(extra):
        return x
    sizes = [(n - 1) * s + 1 + e for n, s, e in zip(x.shape[2:], stride, extra, strict=True)]
    out = np.zeros((*x.shape[:2], *sizes), x.dtype)
    out[
        (slice(None), slice(None), *[slice(0, (n - 1) * s + 1, s) for n, s in zip(x.shape[2:], stride, strict=True)])
    ] = x
    return out


def turned_around(
    x: np.ndarray, w: np.ndarray, stride: Ints, padding: Ints, dilation: Ints, output_padding: Ints, groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """The input and the weights whose correlation, without padding and at steps of 1, is a transposed convolution.

    The input is spaced and has a border; the weights are flipped, their inputs and outputs exchanged.
    """
    spatial = w.ndim - 2
    spread = _spaced(x, stride, output_padding)
    border = [d * (k - 1) - p for d, k, p in zip(dilation, w.shape[2:], padding, strict=True)]
    spread = padded(spread, tuple(max(b, 0) for b in border))
    if any(b < 0 for b in border):
        spread = spread[
            (
                slice(None),
                slice(None),
                *[slice(-min(b, 0), spread.shape[i + 2] + min(b, 0)) for i, b in enumerate(border)],
            )
        ]
        spread = np.ascontiguousarray(spread)
    flipped = np.flip(w, tuple(range(2, 2 + spatial)))
    per_group = w.shape[0] // groups
    exchanged = (
        flipped.reshape(groups, per_group, *w.shape[1:])
        .swapaxes(1, 2)
        .reshape(groups * w.shape[1], per_group, *w.shape[2:])
    )
    return spread, exchanged


@kernel("convolution")
def convolution(
    input: np.ndarray, weight: np.ndarray, bias: Any, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
    output_padding: Ints, groups: int,
) -> np.ndarray:  # fmt: skip
    """input (N, C, *S), weight (O, C/groups, *K), bias (O,) -> (N, O, *T); transposed: weight (C, O/groups, *K)."""
    if transposed:
        spread, exchanged = turned_around(input, weight, stride, padding, dilation, output_padding, groups)
        out = _correlate(spread, exchanged, (1,) * len(stride), dilation, groups)
    else:
        out = _correlate(padded(input, padding), weight, stride, dilation, groups)
    if bias is not None and out.size:
        out += bias.reshape(1, -1, *[1] * (out.ndim - 2))
    return out


@kernel("im2col", half="native")
def im2col(self: np.ndarray, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> np.ndarray:
    """self (N, C, H, W) or (C, H, W) -> (N, C KH KW, L) or (C KH KW, L); L counts the places of the window."""
    batch = self if self.ndim == 4 else self[None]
    view = windows(padded(batch, padding), kernel_size, stride, dilation)
    n, channels = batch.shape[:2]
    columns = view.transpose(0, 1, 4, 5, 2, 3).reshape(n, channels * math.prod(kernel_size), math.prod(view.shape[2:4]))
    if not columns.flags.writeable:  # a single window, or one element in each, is the input itself
        columns = columns.copy()
    return columns if self.ndim == 4 else columns[0]


@kernel("col2im")
def col2im(
    self: np.ndarray, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> np.ndarray:
    """self (N, C KH KW, L) or (C KH KW, L) -> (N, C, H, W) or (C, H, W), where (H, W) is `output_size`."""
    batch = self if self.ndim == 3 else self[None]
    n, area = batch.shape[0], math.prod(kernel_size)
    channels = batch.shape[1] // area
    blocks = [
        (o + 2 * p - d * (k - 1) - 1) // s + 1
        for o, k, d, p, s in zip(output_size, kernel_size, dilation, padding, stride, strict=True)
    ]
    columns = batch.reshape(n, channels, *kernel_size, *blocks)
    out = np.zeros((n, channels, *[o + 2 * p for o, p in zip(output_size, padding, strict=True)]), self.dtype)
    for i in range(kernel_size[0]):
        for j in range(kernel_size[1]):
            rows = slice(i * dilation[0], i * dilation[0] + blocks[0] * stride[0], stride[0])
            cols = slice(j * dilation[1], j * dilation[1] + blocks[1] * stride[1], stride[1])
            out[:, :, rows, cols] += columns[:, :, i, j]
    inner = out[:, :, padding[0] : padding[0] + output_size[0], padding[1] : padding[1] + output_size[1]]
    return inner if self.ndim == 3 else inner[0]
