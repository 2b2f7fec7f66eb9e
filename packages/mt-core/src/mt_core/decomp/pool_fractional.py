"""Fractional max pooling written in other operators."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite


@composite("fractional_max_pool2d")
def fractional_max_pool2d(self: Any, kernel_size: Any, output_size: Any, random_samples: Any) -> tuple[Any, Any]:
    """self (N, C, H, W) or (C, H, W), samples (N, C, 2) -> values and places, (N, C, *output_size)."""
    return _pool(
        self, list(kernel_size), list(output_size), random_samples, "fractional_max_pool2d", ("height", "width")
    )


@composite("fractional_max_pool3d")
def fractional_max_pool3d(self: Any, kernel_size: Any, output_size: Any, random_samples: Any) -> tuple[Any, Any]:
    """self (N, C, D, H, W) or (C, D, H, W), samples (N, C, 3) -> values and places, (N, C, *output_size)."""
    return _pool(
        self, list(kernel_size), list(output_size), random_samples, "fractional_max_pool3d", ("time", "height", "width")
    )


def _pool(
    self: Any, kernel: list[int], output: list[int], samples: Any, name: str, sides: tuple[str, ...]
) -> tuple[Any, Any]:
    count = len(sides)
    _check(self, kernel, output, samples, name, sides)
    batched = self if self.dim() == count + 2 else self.unsqueeze(0)
    batch, channels, *sizes = batched.shape
    flat = _window_positions(sizes, kernel, output, samples, batch, channels)
    planes = batched.reshape(batch, channels, math.prod(sizes))
    values = planes.gather(2, flat.reshape(batch, channels, math.prod(flat.shape[2:]))).view(flat.shape)
    if math.prod(kernel):
        maxima, chosen = values.max(-1)
    else:  # windows of nothing: the smallest number, at the place where each begins
        maxima, chosen = values[..., 0].new_full(values.shape[:-1], -math.inf), None
    positions = flat[..., :1] if chosen is None else flat.gather(-1, chosen.unsqueeze(-1))
    shape = maxima.shape if self.dim() == count + 2 else maxima.shape[1:]
    return ops._unsafe_view(maxima, tuple(shape)), ops._unsafe_view(positions, tuple(shape))


def _window_positions(
    sizes: list[int], kernel: list[int], output: list[int], samples: Any, batch: int, channels: int
) -> Any:
    """The flat positions of the elements of each window: (n, c, *output, elements of a window)."""
    count = len(sizes)
    flat: Any = None
    for dim, (size, window, windows) in enumerate(zip(sizes, kernel, output)):
        # PyTorch's last sample is for the first dimension in two dimensions, its first in three.
        sample = samples[:batch, :, count - 1 - dim if count == 2 else dim]
        starts = _starts(sample, size, window, windows)
        width = window if math.prod(kernel) else 1  # of windows of nothing, the places where they begin
        places = starts.unsqueeze(-1) + ops.arange(width, device=starts.device)
        shape = [batch, channels] + [1] * (2 * count)
        shape[2 + dim], shape[2 + count + dim] = windows, width
        places = places.view(shape)
        flat = places if flat is None else flat * size + places
    return flat.reshape(batch, channels, *output, math.prod(kernel) or 1)


def _starts(sample: Any, size: int, window: int, windows: int) -> Any:
    """Where windows start: (n, c, windows), the last at the end."""
    last = ops.full((*sample.shape, 1), size - window, dtype=dtypes.int64, device=sample.device)
    if windows <= 1:
        return last[..., :windows]
    step = ops.full((), size - window, dtype=sample.dtype, device=sample.device) / (windows - 1)
    offsets = ops.arange(windows - 1, dtype=sample.dtype, device=sample.device)
    sample = sample.unsqueeze(-1)
    starts = ((offsets + sample) * step).to(dtypes.int64) - (sample * step).to(dtypes.int64)
    return ops.cat([starts, last], -1)


def _check(self: Any, kernel: list[int], output: list[int], samples: Any, name: str, sides: tuple[str, ...]) -> None:
    count = len(sides)
    where = name if count == 2 else f"{name}_out"
    for what, sizes in (("kernel_size", kernel), ("output_size", output)):
        if len(sizes) != count:
            numbers = "tuple of Ints" if count == 2 else "tuple of three Ints"
            raise RuntimeError(f"{name}: {what} must either be a single Int or {numbers}")
    if self.dim() not in (count + 1, count + 2):
        raise RuntimeError(f"{where}(): Expected {count + 1}D or {count + 2}D tensor, but got: {list(self.shape)}")
    first = self.dim() - count - 1
    for dim in range(first, self.dim()):
        if self.shape[dim] == 0:
            raise RuntimeError(
                f"{where}(): Expected input to have non-zero size for non-batch dimensions, but got{list(self.shape)} "
                f"with dimension {dim} being empty."
            )
    for side, size, window, windows in zip(sides, self.shape[first + 1 :], kernel, output):
        if windows + window - 1 > size:
            raise RuntimeError(f"{where}(): pool {side} {window} too large relative to input {side} {size}")
    _check_samples(self, samples, count)


def _check_samples(self: Any, samples: Any, count: int) -> None:
    if samples.dtype is not self.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.dim() != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.dim()}")
    batch = 1 if self.dim() == count + 1 else self.shape[0]
    if samples.shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != self.shape[-count - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != count:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {count}; got {samples.shape[2]}.")
