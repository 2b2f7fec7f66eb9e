"""Resizing by the native library: all dimensions of a plane, or of rows of channels, in one pass."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32
from mt_core.resampling import (
    LineMap,
    has_plain_scales,
    nearest_map,
    plain_scales,
    smooth_map,
    smoothing_map,
    smoothing_scales,
)

from ..registry import kernel
from . import library

Ints = tuple[int, ...]
#: What the library takes for a dimension: places (taps, size), their weights, whether some places are -1, no taps.
Line = tuple[Any, Any, bool]


def _map(kind: str, n: int, size: int, align_corners: bool, scale: float | None) -> LineMap | None:
    if kind.startswith("nearest"):
        return nearest_map(n, size, scale, kind == "nearest exact")
    if kind.endswith(" aa"):
        return smoothing_map(kind.removesuffix(" aa"), n, size, align_corners, scale, np.float32)
    return smooth_map(kind == "cubic", n, size, align_corners, scale, np.float32)


@functools.lru_cache(maxsize=256)
def _line(kind: str, n: int, size: int, align_corners: bool, scale: float | None) -> Line | None:
    found = _map(kind, n, size, align_corners, scale)
    if found is None:
        return None
    places = np.array(found.places, np.int32, order="C")
    if found.weights is None:
        return places, None, False
    if found.uneven:
        places[found.weights == 0] = -1
    return places, np.ascontiguousarray(found.weights, np.float32), found.uneven


@functools.lru_cache(maxsize=256)
def _adjoint_line(kind: str, n: int, size: int, align_corners: bool, scale: float | None) -> Line | None:
    """The adjoint of `_line`: each of the n elements gathers what it had given, in the order of taps."""
    line = _line(kind, n, size, align_corners, scale)
    if line is None:
        return None
    places, weights, uneven = line
    to = places.ravel().astype(np.int64)
    factors = np.ones(to.size, np.float32) if weights is None else weights.ravel()
    sources = np.tile(np.arange(size, dtype=np.int32), len(places))
    if uneven:
        to, factors, sources = to[to >= 0], factors[to >= 0], sources[to >= 0]
    order = np.argsort(to, kind="stable")
    counts = np.bincount(to, minlength=n)
    tap = np.arange(to.size) - np.repeat(np.cumsum(counts) - counts, counts)
    taps = max(int(counts.max(initial=0)), 1)
    gathered, shares = np.full((taps, n), -1, np.int32), np.zeros((taps, n), np.float32)
    gathered[tap, to[order]] = sources[order]
    shares[tap, to[order]] = factors[order]
    return gathered, shares, bool((counts < taps).any())


if library is not None:
    _resize = library.resize
    _SINGLE = Accepts(dtypes=frozenset((float32,)))

    def _declare(name: str, kind: str, aligned: bool) -> None:
        @kernel(name, accepts=_SINGLE)
        def upsample(self: Any, output_size: Ints, *rest: Any) -> Any:
            """self (N, C, *S) -> (N, C, *output_size)."""
            align_corners, scales = aligned and bool(rest[0]), rest[aligned:]
            if kind == "nearest" and self.ndim == 4:
                channels_last = np.moveaxis(self, 1, -1).flags.c_contiguous
                if has_plain_scales(output_size, self.shape[1], channels_last):
                    scales = plain_scales(self.shape[2:], output_size, scales)
            elif kind.endswith(" aa"):
                scales = smoothing_scales(self.shape[2:], output_size, scales)
            sizes = zip(self.shape[2:], output_size, scales, strict=True)
            return _resize(self, tuple(_line(kind, n, size, align_corners, scale) for n, size, scale in sizes), False)

        @kernel(f"{name}_backward", accepts=_SINGLE)
        def upsample_backward(grad_output: Any, output_size: Ints, input_size: Ints, *rest: Any) -> Any:
            """grad_output (N, C, *output_size) -> (N, C, *S)."""
            align_corners, scales = aligned and bool(rest[0]), rest[aligned:]
            if kind == "nearest":
                scales = plain_scales(input_size[2:], output_size, scales)
            sizes = zip(input_size[2:], output_size, scales, strict=True)
            maps = tuple(_adjoint_line(kind, n, size, align_corners, scale) for n, size, scale in sizes)
            return _resize(grad_output, maps, True)

    for _spatial in (1, 2, 3):
        _declare(f"upsample_nearest{_spatial}d", "nearest", False)
        _declare(f"_upsample_nearest_exact{_spatial}d", "nearest exact", False)
    for _name in ("linear1d", "bilinear2d", "trilinear3d"):
        _declare(f"upsample_{_name}", "linear", True)
    _declare("upsample_bicubic2d", "cubic", True)
    for _name in ("bilinear", "bicubic", "lanczos"):
        _declare(f"_upsample_{_name}2d_aa", f"{_name} aa", True)
