"""Pooling over NumPy: reductions over a view of all windows."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from mt_core.meta.pool import pooled_size, windows_of

from ..registry import kernel
from .conv import windows

Ints = tuple[int, ...]


def _extended(
    self: np.ndarray, sizes: Ints, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, value: Any
) -> np.ndarray:
    """The input with its border, and as much after it as the last window needs (ceil mode)."""
    spatial = len(kernel_size)
    widths = [(0, 0)] * (self.ndim - spatial)
    for i in range(spatial):
        needed = (sizes[i] - 1) * stride[i] + dilation[i] * (kernel_size[i] - 1) + 1
        n = self.shape[self.ndim - spatial + i]
        widths.append((padding[i], max(padding[i], needed - n - padding[i])))
    return np.pad(self, widths, constant_values=value)


def _geometry(self: np.ndarray, spatial: int, ceil_mode: bool, *window: Ints) -> tuple[Ints, list[Ints]]:
    values = windows_of(spatial, *window)
    kernel_size, stride, padding = values[:3]
    dilation = values[3] if len(values) > 3 else (1,) * spatial
    sizes = tuple(
        pooled_size(self.shape[self.ndim - spatial + i], kernel_size[i], stride[i], padding[i], dilation[i], ceil_mode)
        for i in range(spatial)
    )
    return sizes, [kernel_size, stride, padding, dilation]


def _divisors(
    shape: Ints, sizes: Ints, kernel_size: Ints, stride: Ints, padding: Ints, include_pad: bool, override: Any
) -> np.ndarray:
    """How many elements each window averages over."""
    if override is not None:
        return np.full(sizes, override)
    per_dim = []
    for n, size, k, s, p in zip(shape, sizes, kernel_size, stride, padding, strict=True):
        start = np.arange(size) * s - p
        end = np.minimum(start + k, n + p)
        per_dim.append(end - start if include_pad else np.minimum(end, n) - np.maximum(start, 0))
    total = per_dim[0]
    for counts in per_dim[1:]:
        total = total[..., None] * counts
    return total


def _average(spatial: int) -> Any:
    def avg_pool(
        self: np.ndarray,
        kernel_size: Ints,
        stride: Ints,
        padding: Ints,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: Any,
    ) -> np.ndarray:
        sizes, (k, s, p, d) = _geometry(self, spatial, ceil_mode, kernel_size, stride, padding)
        view = windows(_extended(self, sizes, k, s, p, d, 0), k, s, d)[
            (..., *[slice(0, n) for n in sizes], *[slice(None)] * spatial)
        ]
        total = view.sum(axis=tuple(range(-spatial, 0)))
        count = _divisors(self.shape[-spatial:], sizes, k, s, p, count_include_pad, divisor_override)
        if self.dtype.kind in "fc":
            return total / count.astype(self.dtype)
        # C++ rounds the quotient of integers towards zero.
        return np.sign(total) * np.sign(count) * (np.abs(total) // np.abs(count))

    return avg_pool


def _average_backward(spatial: int) -> Any:
    def backward(
        grad_output: np.ndarray,
        self: np.ndarray,
        kernel_size: Ints,
        stride: Ints,
        padding: Ints,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: Any,
    ) -> np.ndarray:
        sizes, (k, s, p, d) = _geometry(self, spatial, ceil_mode, kernel_size, stride, padding)
        count = _divisors(self.shape[-spatial:], sizes, k, s, p, count_include_pad, divisor_override)
        share = grad_output / count.astype(grad_output.dtype)
        whole = np.zeros_like(_extended(self, sizes, k, s, p, d, 0), dtype=grad_output.dtype)
        for offset in itertools.product(*[range(n) for n in k]):
            at = tuple(slice(o, o + (n - 1) * step + 1, step) for o, n, step in zip(offset, sizes, s, strict=True))
            whole[(..., *at)] += share
        inner = tuple(slice(p[i], p[i] + self.shape[self.ndim - spatial + i]) for i in range(spatial))
        return whole[(..., *inner)]

    return backward


def _lowest(dtype: np.dtype) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _maximum(spatial: int) -> Any:
    def max_pool(
        self: np.ndarray, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        sizes, (k, s, p, d) = _geometry(self, spatial, ceil_mode, kernel_size, stride, padding, dilation)
        view = windows(_extended(self, sizes, k, s, p, d, _lowest(self.dtype)), k, s, d)
        view = view[(..., *[slice(0, n) for n in sizes], *[slice(None)] * spatial)]
        flat = view.reshape(*view.shape[:-spatial], math.prod(k))
        # A window may begin in the border: its first inner element counts before the border's filling.
        inner = _inside(self.shape[-spatial:], sizes, k, s, p, d)
        chosen = (
            np.argmax(np.where(inner, flat, _lowest(self.dtype)), -1)
            if self.dtype.kind != "f"
            else _first_largest(flat, inner)
        )
        values = np.take_along_axis(flat, chosen[..., None], -1)[..., 0]
        return values, _flat_index(chosen, self.shape[-spatial:], sizes, k, s, p, d)

    return max_pool


def _inside(shape: Ints, sizes: Ints, k: Ints, s: Ints, p: Ints, d: Ints) -> np.ndarray:
    """Which elements of each window lie in the input: (*sizes, elements)."""
    result: Any = np.ones((), np.bool_)
    for n, size, kernel_size, step, border, spread in zip(shape, sizes, k, s, p, d, strict=True):
        place = np.arange(size)[:, None] * step - border + np.arange(kernel_size) * spread
        ok = (place >= 0) & (place < n)
        result = result[..., None, None] & ok
    spatial = len(sizes)
    order = [*range(0, 2 * spatial, 2), *range(1, 2 * spatial, 2)]
    return result.transpose(order).reshape(*sizes, math.prod(k))


def _first_largest(flat: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Position of the first largest inner element, a NaN before all."""
    nan = np.isnan(flat)
    kept = np.where(inner, flat, -np.inf)
    kept = np.where(nan, np.inf, kept)
    largest = np.argmax(kept, -1)
    # Where all inner elements are -inf the first inner one is meant, not the border's.
    all_low = ~(kept > -np.inf).any(-1)
    largest = np.where(all_low, np.argmax(np.broadcast_to(inner, flat.shape), -1), largest)
    last_nan = flat.shape[-1] - 1 - np.argmax(nan[..., ::-1], -1)
    return np.where(nan.any(-1), last_nan, largest)


def _flat_index(chosen: np.ndarray, shape: Ints, sizes: Ints, k: Ints, s: Ints, p: Ints, d: Ints) -> np.ndarray:
    """Index into the flattened input plane of the element chosen in each window."""
    offsets = np.unravel_index(chosen, k)
    flat: Any = 0
    for i, (n, offset) in enumerate(zip(shape, offsets, strict=True)):
        start = (np.arange(sizes[i]) * s[i] - p[i]).reshape([-1 if j == i else 1 for j in range(len(sizes))])
        flat = flat * n + start + offset * d[i]
    return flat


def _adaptive_maximum(spatial: int) -> Any:
    def adaptive_max_pool(self: np.ndarray, output_size: Ints) -> tuple[np.ndarray, np.ndarray]:
        shape = self.shape[-spatial:]
        values = np.empty((*self.shape[:-spatial], *output_size), self.dtype)
        indices = np.empty(values.shape, np.int64)
        for cell in itertools.product(*[range(n) for n in output_size]):
            bounds = [
                (c * n // size, -((-(c + 1) * n) // size)) for c, n, size in zip(cell, shape, output_size, strict=True)
            ]
            part = self[(..., *[slice(a, b) for a, b in bounds])]
            extent = part.shape[-spatial:]
            flat = part.reshape(*part.shape[:-spatial], -1)
            chosen = np.argmax(flat, -1)
            values[(..., *cell)] = np.take_along_axis(flat, chosen[..., None], -1)[..., 0]
            place: Any = 0
            for n, (start, _), offset in zip(shape, bounds, np.unravel_index(chosen, extent), strict=True):
                place = place * n + start + offset
            indices[(..., *cell)] = place
        return values, indices

    return adaptive_max_pool


for _spatial in (1, 2, 3):
    if _spatial > 1:
        kernel(f"avg_pool{_spatial}d")(_average(_spatial))
        kernel(f"avg_pool{_spatial}d_backward")(_average_backward(_spatial))
    kernel(f"max_pool{_spatial}d_with_indices")(_maximum(_spatial))
    kernel(f"adaptive_max_pool{_spatial}d")(_adaptive_maximum(_spatial))
