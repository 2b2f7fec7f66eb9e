"""Pooling over NumPy: reductions over a view of all windows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.windows import pooled_size, windows_of

from ..registry import FLOATS, fused, kernel
from .conv import windows

Ints = tuple[int, ...]


def _extended(
    self: np.ndarray, sizes: Ints, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, value: Any
) -> np.ndarray:
    """The input with its border, and as much after it as the last window needs (ceil mode)."""
    lead = self.ndim - len(kernel_size)
    before = (0,) * lead + padding
    shape = list(self.shape)
    for i, (size, k, s, p, d) in enumerate(zip(sizes, kernel_size, stride, padding, dilation, strict=True), lead):
        shape[i] += p + max(p, (size - 1) * s + d * (k - 1) + 1 - shape[i] - p)
    if tuple(shape) == self.shape:
        return self
    out = _like(self, shape, value)
    out[tuple([slice(b, b + n) for b, n in zip(before, self.shape, strict=True)])] = self
    return out


def _like(self: np.ndarray, shape: list[int], value: Any) -> np.ndarray:
    """An array of one value, its dimensions in the order in which the other's lie in memory."""
    order = sorted(range(self.ndim), key=lambda i: -self.strides[i])
    out = np.full([shape[i] for i in order], value, self.dtype)
    return out.transpose([order.index(i) for i in range(self.ndim)])


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
        return _quotient(total, count)

    return avg_pool


def _quotient(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    """In the dtype of the first; C++ rounds the quotient of integers towards zero."""
    if total.dtype.kind == "f":
        return total / count.astype(total.dtype)
    return (np.sign(total) * np.sign(count) * (np.abs(total) // np.abs(count))).astype(total.dtype)


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
        share = _quotient(grad_output, count)
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
        shape = self.shape[-spatial:]
        elements = _elements(_extended(self, sizes, k, s, p, d, _lowest(self.dtype)), sizes, k, s, d)
        values = elements[0].copy("K")
        start = _places(shape, sizes, s, p)
        # Places within the window, until its start is added: first that of its first element in the input.
        places = np.zeros_like(values, np.int64)
        if any(p):
            places += _places(shape, sizes, s, p, d) - start
        offsets = _offsets(shape, k, d)
        for at, larger in _larger_ones(self, elements, values):
            np.copyto(places, offsets[at], where=larger)
        return values, np.add(places, start, places)

    return max_pool


def _maximum_alone(spatial: int) -> Any:
    def max_pool(
        self: np.ndarray, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
    ) -> np.ndarray:
        sizes, (k, s, p, d) = _geometry(self, spatial, ceil_mode, kernel_size, stride, padding, dilation)
        elements = _elements(_extended(self, sizes, k, s, p, d, _lowest(self.dtype)), sizes, k, s, d)
        values = elements[0].copy("K")
        for _ in _larger_ones(self, elements, values):
            pass
        return values

    return max_pool


def _elements(whole: np.ndarray, sizes: Ints, kernel_size: Ints, stride: Ints, dilation: Ints) -> list[np.ndarray]:
    """The first element of every window, then the second, and so on, row by row: views (*, *sizes)."""
    along = [
        [slice(offset, offset + n * s - s + 1, s) for offset in range(0, k * d, d)]
        for n, k, s, d in zip(sizes, kernel_size, stride, dilation, strict=True)
    ]
    return [whole[(..., *at)] for at in itertools.product(*along)]


def _offsets(shape: Ints, kernel_size: Ints, dilation: Ints) -> list[int]:
    """How far a window's elements lie, in the flattened plane, from its first one."""
    offsets = [0]
    for n, k, d in zip(shape, kernel_size, dilation, strict=True):
        offsets = [offset * n + inner for offset in offsets for inner in range(0, k * d, d)]
    return offsets


def _places(shape: Ints, sizes: Ints, stride: Ints, padding: Ints, dilation: Ints | None = None) -> np.ndarray:
    """Flat index of each window's first element; given the dilation, of the first that lies in the input."""
    places: Any = None
    for i, (n, size, s, p) in enumerate(zip(shape, sizes, stride, padding, strict=True)):
        along = np.arange(-p, size * s - p, s)
        if dilation is not None:
            along = np.where(along < 0, along % dilation[i], along)
        places = along if places is None else (places * n)[..., None] + along
    return places


def _larger_ones(self: np.ndarray, elements: list[np.ndarray], values: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Go through the windows' elements: the larger takes the place of the largest so far, and a NaN of all.

    Yields the number of each element, and where it has become the largest.
    """
    larger = np.empty_like(values, np.bool_)
    has_nan = self.dtype.kind == "f" and self.size and np.isnan(np.maximum.reduce(self, None))
    for at in range(1, len(elements)):
        element = elements[at]
        np.greater(element, values, larger)
        if has_nan:
            np.logical_or(larger, np.isnan(element), larger)
        np.copyto(values, element, where=larger)
        yield at, larger


def _adaptive_maximum(spatial: int) -> Any:
    def adaptive_max_pool(self: np.ndarray, output_size: Ints) -> tuple[np.ndarray, np.ndarray]:
        shape = self.shape[-spatial:]
        values = np.empty((*self.shape[:-spatial], *output_size), self.dtype)
        indices = np.empty(values.shape, np.int64)
        has_nan = self.size and np.isnan(np.maximum.reduce(self, None))
        for cell in itertools.product(*[range(n) for n in output_size]):
            bounds = [
                (c * n // size, -((-(c + 1) * n) // size)) for c, n, size in zip(cell, shape, output_size, strict=True)
            ]
            part = self[(..., *[slice(a, b) for a, b in bounds])]
            extent = part.shape[-spatial:]
            flat = part.reshape(*part.shape[:-spatial], math.prod(extent))
            chosen = np.argmax(flat, -1)
            if has_nan:  # `argmax` finds the first of them, and the last is wanted
                wrong = np.isnan(flat)
                last = flat.shape[-1] - 1 - np.argmax(wrong[..., ::-1], -1)
                chosen = np.where(wrong.any(-1), last, chosen)
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
    _ranks = {"self": (3,)} if _spatial == 1 else {}
    fused(f"max_pool{_spatial}d", Accepts(dtypes=FLOATS, ranks=_ranks))(_maximum_alone(_spatial))
