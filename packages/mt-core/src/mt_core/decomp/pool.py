"""Pooling written in other operators."""

from __future__ import annotations

import math
from itertools import chain
from typing import Any

from ..api import _functions as ops
from ..autograd_state import is_grad_enabled
from ..declarations._checks import FLOATS, Supported
from ..determinism import alert_not_deterministic
from ..dispatch.registry import register_composite as composite
from ..layout import strides_like, suggested_format
from ..resampling import averaging_map
from ..shape_rules.pool import adaptive_shape, check_adaptive_average, check_counts, check_line
from ._lines import mapped, spread

Ints = tuple[int, ...]

_LINES = Supported("max_pool1d_impl", FLOATS)


def _check_line(self: Any, name: str) -> None:
    if self.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {self.dim()}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {name})"
        )


@composite("avg_pool1d")
def avg_pool1d(
    self: Any, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool, count_include_pad: bool
) -> Any:
    """self (N, C, L) or (C, L) -> (N, C, T) or (C, T), T the number of windows."""
    check_counts(1, "avg_pool1d", {"kernel_size": kernel_size, "stride": stride, "padding": padding})
    _check_line(self, "avg_pool1d")
    step = stride if len(stride) else kernel_size
    result = ops.avg_pool2d(
        self.unsqueeze(-2), (1, kernel_size[0]), (1, step[0]), (0, padding[0]), ceil_mode, count_include_pad
    )
    return result.squeeze(-2)


@composite("max_pool1d_with_indices")
def max_pool1d_with_indices(
    self: Any, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> tuple[Any, Any]:
    """self (N, C, L) or (C, L) -> values and places (int64), (N, C, T) or (C, T), T the number of windows."""
    given = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    check_counts(1, "max_pool1d", given)
    _check_line(self, "max_pool1d")
    step = stride if len(stride) else kernel_size
    maxima, places = ops.max_pool2d_with_indices(
        self.unsqueeze(-2), (1, kernel_size[0]), (1, step[0]), (0, padding[0]), (1, dilation[0]), ceil_mode
    )
    return maxima.squeeze(-2), places.squeeze(-2)


@composite("adaptive_max_pool1d")
def adaptive_max_pool1d(self: Any, output_size: Ints) -> tuple[Any, Any]:
    """self (N, C, L) or (C, L) -> values and places (int64), (N, C, *output_size) or (C, *output_size)."""
    adaptive_shape(self, output_size, 1, "adaptive_max_pool1d")
    maxima, places = ops.adaptive_max_pool2d(self.unsqueeze(-2), (1, *output_size))
    return maxima.squeeze(-2), places.squeeze(-2)


@composite("max_pool1d")
def max_pool1d(self: Any, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Any:
    """self (N, C, L) or (C, L) -> (N, C, T) or (C, T), T the number of windows."""
    check_line(self, kernel_size, stride, padding, dilation, ceil_mode)
    _LINES.require((self,), self._dtype)
    if self.dim() == 2 and not (self.requires_grad and is_grad_enabled()):
        return ops.max_pool1d(self.unsqueeze(0), kernel_size, stride, padding, dilation, ceil_mode).squeeze_(0)
    return ops.max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


for _spatial in (2, 3):
    composite(f"max_pool{_spatial}d")(
        lambda self, *window, _name=f"max_pool{_spatial}d_with_indices": getattr(ops, _name)(self, *window)[0]
    )


def _adaptive(self: Any, output_size: Ints, spatial: int) -> Any:
    if len(output_size) == spatial and all(n == 1 for n in output_size):
        check_adaptive_average(self, output_size, spatial)
        return _mean(self, spatial)
    return getattr(ops, f"_adaptive_avg_pool{spatial}d")(self, output_size)


def _mean(self: Any, spatial: int) -> Any:
    """The mean of each channel, (N, C, 1, ..., 1) or (C, 1, ..., 1)."""
    means = self.mean(tuple(range(-spatial, 0)), keepdim=True)
    strides = strides_like(self, tuple(means.shape)) if self.dim() == spatial + 2 else None
    return means if strides is None else means.as_strided_(means.shape, strides)


@composite("adaptive_avg_pool1d")
def adaptive_avg_pool1d(self: Any, output_size: Ints) -> Any:
    """self (N, C, L) or (C, L) -> (N, C, *output_size) or (C, *output_size)."""
    check_adaptive_average(self, output_size, 1)
    return ops.adaptive_avg_pool2d(self.unsqueeze(-2), (1, *output_size)).squeeze(-2)


def _declare_adaptive(spatial: int) -> None:
    """Adaptive averages and their derivative: explicit composites, whose rules settle refusals, shapes and layouts."""

    def forward(self: Any, output_size: Ints) -> Any:
        parts = _equal_windows(tuple(self.shape), tuple(output_size))
        if parts is not None:
            return self.reshape(parts).mean(tuple(range(-2 * spatial + 1, 0, 2)))
        return mapped(self, _windows(tuple(self.shape), output_size))

    def backward(grad_output: Any, self: Any) -> Any:
        sizes = tuple(self.shape[-spatial:])
        return spread(grad_output, _windows(tuple(self.shape), tuple(grad_output.shape[-spatial:])), sizes)

    def _equal_windows(shape: Ints, output_size: Ints) -> Ints | None:
        """The shape with each averaged dimension as (windows, elements of a window); None where those differ."""
        pairs = list(zip(shape[-spatial:], output_size, strict=True))
        if any(n == 0 or size == 0 or n % size for n, size in pairs):
            return None
        return (*shape[:-spatial], *chain.from_iterable((size, n // size) for n, size in pairs))

    def _windows(shape: Ints, output_size: Ints) -> list[Any]:
        return [averaging_map(n, size) for n, size in zip(shape[-spatial:], output_size, strict=True)]

    composite(f"adaptive_avg_pool{spatial}d")(lambda self, output_size: _adaptive(self, tuple(output_size), spatial))
    composite(f"_adaptive_avg_pool{spatial}d", explicit=True)(forward)
    composite(f"_adaptive_avg_pool{spatial}d_backward", explicit=True)(backward)


_declare_adaptive(2)
_declare_adaptive(3)


def _unpool(self: Any, indices: Any, output_size: Ints, spatial: int) -> Any:
    lead, area = tuple(self.shape[:-spatial]), math.prod(output_size)
    flat = self.reshape((*lead, -1)) if self.numel() else self.reshape((*lead, 0))
    if flat.numel() and area:
        low, high = int(indices.min()), int(indices.max())
        if low < 0 or high >= area:
            raise RuntimeError(
                f"Found an invalid max index: {high if high >= area else low} (output volumes are of size "
                f"{'x'.join(map(str, output_size))})"
            )
        result = self.new_zeros((*lead, area)).scatter(-1, indices.reshape(flat.shape), flat)
    else:
        result = self.new_zeros((*lead, area))
    return result.reshape((*lead, *output_size))


@composite("max_unpool2d", explicit=True)
def max_unpool2d(self: Any, indices: Any, output_size: Ints) -> Any:
    """self and indices (N, C, H, W) or (C, H, W) -> (N, C, *output_size) or (C, *output_size)."""
    alert_not_deterministic("max_unpooling2d_forward_out")
    return _unpool(self, indices, tuple(output_size), 2)


@composite("max_unpool3d", explicit=True)
def max_unpool3d(self: Any, indices: Any, output_size: Ints, stride: Ints, padding: Ints) -> Any:
    """self and indices (N, C, D, H, W) or (C, D, H, W) -> (N, C, *output_size) or (C, *output_size)."""
    alert_not_deterministic("max_unpooling3d_forward_out")
    return _unpool(self, indices, tuple(output_size), 3)


@composite("pixel_shuffle", explicit=True)
def pixel_shuffle(self: Any, upscale_factor: int) -> Any:
    """self (*, C r r, H, W) -> (*, C, H r, W r)."""
    r = upscale_factor
    *lead, c, h, w = self.shape
    n = len(lead)
    parts = self.reshape((*lead, c // (r * r), r, r, h, w))
    if suggested_format(self) is not None:  # channels innermost: their positions are copied once
        planes = parts.permute((0, 4, 2, 5, 3, 1)).reshape((lead[0], h * r, w * r, c // (r * r)))
        return planes.permute((0, 3, 1, 2))
    return parts.permute([*range(n), n, n + 3, n + 1, n + 4, n + 2]).reshape((*lead, c // (r * r), h * r, w * r))


@composite("pixel_unshuffle", explicit=True)
def pixel_unshuffle(self: Any, downscale_factor: int) -> Any:
    """self (*, C, H r, W r) -> (*, C r r, H, W)."""
    r = downscale_factor
    *lead, c, h, w = self.shape
    n = len(lead)
    parts = self.reshape((*lead, c, h // r, r, w // r, r))
    if suggested_format(self) is not None:  # as above
        planes = parts.permute((0, 2, 4, 1, 3, 5)).reshape((lead[0], h // r, w // r, c * r * r))
        return planes.permute((0, 3, 1, 2))
    return parts.permute([*range(n), n, n + 2, n + 4, n + 1, n + 3]).reshape((*lead, c * r * r, h // r, w // r))


@composite("channel_shuffle", "native_channel_shuffle", explicit=True)
def channel_shuffle(self: Any, groups: int) -> Any:
    """self (N, C, *) -> (N, C, *), channels dealt out from `groups` piles."""
    n, channels, *rest = self.shape
    dealt = self.reshape((n, groups, channels // groups, *rest)).transpose(1, 2)
    if suggested_format(self) is not None:  # as above
        last = dealt.permute((0, *range(3, self.dim() + 1), 1, 2)).reshape((n, *rest, channels))
        return last.permute((0, self.dim() - 1, *range(1, self.dim() - 1)))
    return dealt.reshape(self.shape)
