"""Pooling written in other operators."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..construct import from_data
from ..dispatch.registry import register_composite as composite
from ..shape_rules.pool import adaptive_shape, check_counts

Ints = tuple[int, ...]


@composite("avg_pool1d")
def avg_pool1d(
    self: Any, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool, count_include_pad: bool
) -> Any:
    """self (N, C, L) or (C, L) -> (N, C, T) or (C, T), T the number of windows."""
    check_counts(1, "avg_pool1d", {"kernel_size": kernel_size, "stride": stride, "padding": padding})
    if self.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {self.dim()}-dimensional tensor for argument #1 'self' (while "
            "checking arguments for avg_pool1d)"
        )
    step = stride if len(stride) else kernel_size
    result = ops.avg_pool2d(
        self.unsqueeze(-2), (1, kernel_size[0]), (1, step[0]), (0, padding[0]), ceil_mode, count_include_pad
    )
    return result.squeeze(-2)


for _spatial in (1, 2, 3):
    composite(f"max_pool{_spatial}d")(
        lambda self, *window, _name=f"max_pool{_spatial}d_with_indices": getattr(ops, _name)(self, *window)[0]
    )


def _averages(self: Any, n: int, size: int) -> Any:
    """(size, n) matrix whose rows average the windows of adaptive pooling."""
    rows = []
    for i in range(size):
        start, end = i * n // size, -((-(i + 1) * n) // size)
        rows.append([1 / (end - start) if start <= j < end else 0.0 for j in range(n)])
    matrix = (
        from_data(rows, dtypes.float64, self.device)
        if size
        else ops.zeros((0, n), dtype=dtypes.float64, device=self.device)
    )
    return matrix.to(self.dtype)


def _adaptive(self: Any, output_size: Ints, spatial: int) -> Any:
    adaptive_shape(self, output_size, spatial, f"adaptive_avg_pool{spatial}d")
    result = self
    for i, size in enumerate(output_size):
        dim = self.dim() - spatial + i
        n = self.shape[dim]
        if size != n:
            result = (result.movedim(dim, -1) @ _averages(self, n, size).t()).movedim(-1, dim)
    return result.contiguous() if result is not self else self.clone()


for _spatial in (1, 2, 3):
    composite(f"adaptive_avg_pool{_spatial}d")(
        lambda self, output_size, _spatial=_spatial: _adaptive(self, tuple(output_size), _spatial)
    )


def _check_count(values: Ints, words: str) -> None:
    if len(values) != (2 if words.startswith("two") else 3):
        got = "got" if words.endswith("output_size") else "got:"
        raise RuntimeError(f"There should be exactly {words}, but {got} {len(values)} elements.")


def _unpool(self: Any, indices: Any, output_size: Ints, spatial: int) -> Any:
    if indices.dtype is not dtypes.int64:
        raise RuntimeError(
            f"elements in indices should be type int64 but got: {dtypes.scalar_type_name(indices.dtype)}"
        )
    if self.dim() not in (spatial + 1, spatial + 2):
        raise RuntimeError(
            f"Input to max_unpooling{spatial}d should be a {spatial + 1}d or {spatial + 2}d Tensor, but got a "
            f"tensor with {self.dim()} dimensions."
        )
    if self.shape != indices.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(self.shape)}) but got "
            f"indices tensor with shape: {list(indices.shape)}"
        )
    lead = tuple(self.shape[:-spatial])
    area = math.prod(output_size)
    if indices.numel() and not indices.is_meta:
        low, high = int(indices.min()), int(indices.max())
        if self.numel() and area and (low < 0 or high >= area):
            raise RuntimeError(
                f"Found an invalid max index: {high if high >= area else low} (output volumes are of size "
                f"{'x'.join(map(str, output_size))})"
            )
    flat = self.reshape((*lead, -1)) if self.numel() else self.reshape((*lead, 0))
    result = self.new_zeros((*lead, area)).scatter(-1, indices.reshape(flat.shape), flat)
    return result.reshape((*lead, *output_size))


@composite("max_unpool2d")
def max_unpool2d(self: Any, indices: Any, output_size: Ints) -> Any:
    """self and indices (N, C, H, W) or (C, H, W) -> (N, C, *output_size) or (C, *output_size)."""
    _check_count(output_size, "two elements (height, width) in output_size")
    return _unpool(self, indices, tuple(output_size), 2)


@composite("max_unpool3d")
def max_unpool3d(self: Any, indices: Any, output_size: Ints, stride: Ints, padding: Ints) -> Any:
    """self and indices (N, C, D, H, W) or (C, D, H, W) -> (N, C, *output_size) or (C, *output_size)."""
    _check_count(output_size, "three elements (depth, height, width) in output_size")
    _check_count(stride, "three elements (depth, height, width) in stride")
    _check_count(padding, "three elements (depth, height, width) in padding")
    if min(stride) <= 0:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(stride)}")
    return _unpool(self, indices, tuple(output_size), 3)


@composite("pixel_shuffle")
def pixel_shuffle(self: Any, upscale_factor: int) -> Any:
    """self (*, C r r, H, W) -> (*, C, H r, W r)."""
    if self.dim() < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {self.dim()} dimension(s)"
        )
    r = upscale_factor
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, c, h, w = self.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
            f"upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    if r == 1:
        return self.clone().view(self.shape)
    n = len(lead)
    parts = self.reshape((*lead, c // (r * r), r, r, h, w))
    return parts.permute([*range(n), n, n + 3, n + 1, n + 4, n + 2]).reshape((*lead, c // (r * r), h * r, w * r))


@composite("pixel_unshuffle")
def pixel_unshuffle(self: Any, downscale_factor: int) -> Any:
    """self (*, C, H r, W r) -> (*, C r r, H, W)."""
    if self.dim() < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {self.dim()} dimension(s)"
        )
    r = downscale_factor
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, c, h, w = self.shape
    for name, size in (("height", h), ("width", w)):
        if size % r:
            at = -2 if name == "height" else -1
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({at})={size} is not divisible by {r}"
            )
    if r == 1:
        return self.clone().view(self.shape)
    n = len(lead)
    parts = self.reshape((*lead, c, h // r, r, w // r, r))
    return parts.permute([*range(n), n, n + 2, n + 4, n + 1, n + 3]).reshape((*lead, c * r * r, h // r, w // r))


@composite("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(self: Any, groups: int) -> Any:
    """self (N, C, *) -> (N, C, *), channels dealt out from `groups` piles."""
    if self.dim() <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}")
    channels = self.shape[1]
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    if groups == 1:
        return self.clone().view(self.shape)
    rest = tuple(self.shape[2:])
    return self.reshape((self.shape[0], groups, channels // groups, *rest)).transpose(1, 2).reshape(self.shape)
