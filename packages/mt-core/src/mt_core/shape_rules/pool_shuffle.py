"""Shape rules of operators that put elements elsewhere: unpooling, and channels exchanged with space."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..dispatch.registry import register_shape_rule as shape_rule
from ..layout import strides_like, suggested_format
from ..spec import Spec

Ints = tuple[int, ...]


def _check_count(values: Ints, words: str) -> None:
    if len(values) != (2 if words.startswith("two") else 3):
        got = "got" if words.endswith("output_size") else "got:"
        raise RuntimeError(f"There should be exactly {words}, but {got} {len(values)} elements.")


def _unpooled(self: Any, indices: Any, output_size: Ints, spatial: int) -> Ints:
    if indices._dtype is not dtypes.int64:
        raise RuntimeError(
            f"elements in indices should be type int64 but got: {dtypes.scalar_type_name(indices._dtype)}"
        )
    shape = tuple(self._array.shape)
    if len(shape) not in (spatial + 1, spatial + 2):
        raise RuntimeError(
            f"Input to max_unpooling{spatial}d should be a {spatial + 1}d or {spatial + 2}d Tensor, but got a "
            f"tensor with {len(shape)} dimensions."
        )
    if shape != tuple(indices._array.shape):
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(shape)}) but got "
            f"indices tensor with shape: {list(indices._array.shape)}"
        )
    return (*shape[:-spatial], *output_size)


@shape_rule("max_unpool2d")
def max_unpool2d(self: Any, indices: Any, output_size: Ints) -> Spec:
    """self and indices (N, C, H, W) or (C, H, W) -> (N, C, *output_size) or (C, *output_size)."""
    _check_count(output_size, "two elements (height, width) in output_size")
    shape = _unpooled(self, indices, output_size, 2)
    return Spec(shape, self._dtype, strides_like(self, shape))


@shape_rule("max_unpool3d")
def max_unpool3d(self: Any, indices: Any, output_size: Ints, stride: Ints, padding: Ints) -> Spec:
    """self and indices (N, C, D, H, W) or (C, D, H, W) -> (N, C, *output_size) or (C, *output_size)."""
    _check_count(output_size, "three elements (depth, height, width) in output_size")
    _check_count(stride, "three elements (depth, height, width) in stride")
    _check_count(padding, "three elements (depth, height, width) in padding")
    if min(stride) <= 0:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(stride)}")
    return Spec(_unpooled(self, indices, output_size, 3), self._dtype)


@shape_rule("pixel_shuffle")
def pixel_shuffle(self: Any, upscale_factor: int) -> Spec:
    """self (*, C r r, H, W) -> (*, C, H r, W r)."""
    *lead, c, h, w = _checked(self, "pixel_shuffle", "upscale_factor", upscale_factor)
    r = upscale_factor
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
            f"upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    return _images(self, (*lead, c // (r * r), h * r, w * r))


@shape_rule("pixel_unshuffle")
def pixel_unshuffle(self: Any, downscale_factor: int) -> Spec:
    """self (*, C, H r, W r) -> (*, C r r, H, W)."""
    *lead, c, h, w = _checked(self, "pixel_unshuffle", "downscale_factor", downscale_factor)
    r = downscale_factor
    for name, at, size in (("height", -2, h), ("width", -1, w)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({at})={size} is not divisible by {r}"
            )
    if not math.prod((*lead, c, h, w)):
        return Spec((*lead, c, h, w), self._dtype)  # PyTorch hands back the shape of what has no elements
    return _images(self, (*lead, c * r * r, h // r, w // r))


def _checked(self: Any, name: str, factor_name: str, factor: int) -> Ints:
    shape = tuple(self._array.shape)
    if len(shape) < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {len(shape)} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {factor_name}, but got {factor}")
    return shape


def _images(self: Any, shape: Ints) -> Spec:
    if suggested_format(self) is not None and len(shape) != 4:
        raise RuntimeError("Unsupported memory format. Supports only ChannelsLast, Contiguous")
    return Spec(shape, self._dtype, strides_like(self, shape))


@shape_rule("channel_shuffle")
@shape_rule("native_channel_shuffle")
def channel_shuffle(self: Any, groups: int) -> Spec:
    """self (N, C, *) -> (N, C, *)."""
    shape = tuple(self._array.shape)
    if len(shape) <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} groups."
        )
    return Spec(shape, self._dtype, strides_like(self, shape))


@shape_rule("affine_grid_generator")
def affine_grid_generator(theta: Any, size: Ints, align_corners: bool) -> Spec:
    """theta (N, D, D + 1), size (N, C, *S) -> (N, *S, D), for D = 2 or 3."""
    if len(size) not in (4, 5):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    if min(size[2:]) < 0:
        grid = [1, *size[2:], len(size) - 1]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size[2:])}: {grid}")
    return Spec((size[0], *size[2:], len(size) - 2), theta._dtype)
