"""Resizing written in other operators: every output element is a weighted sum of input elements found by index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ..errors import no_memory
from ..formats import channels_last as channels_last_format
from ..resampling import (
    LineMap,
    has_plain_scales,
    nearest_map,
    plain_scales,
    smooth_map,
    smoothing_map,
    smoothing_scales,
)
from ._lines import mapped, spread

Ints = tuple[int, ...]
#: (size before, size after, scale or None, element type of positions) -> map of one dimension, None for no change.
MakeMap = Callable[[int, int, Any, Any], LineMap | None]


def _maps(make: MakeMap, d: Any, sizes: Ints, output_size: Ints, scales: Sequence[Any]) -> list[LineMap | None]:
    real = np.float64 if d is dtypes.float64 or d is dtypes.uint8 else np.float32
    try:
        return [make(n, size, scale, real) for n, size, scale in zip(sizes, output_size, scales, strict=True)]
    except MemoryError as error:
        raise no_memory(error) from None


def _declare(name: str, spatial: int, make: Callable[..., MakeMap], aligned: bool) -> None:
    """An operator and its derivative: explicit composites, whose rules settle refusals, shapes and layouts.

    `make` gives what makes the maps, of ``align_corners`` where the operator has it.
    """
    by_left_edge = name.startswith("upsample_nearest")

    def forward(self: Any, output_size: Ints, *rest: Any) -> Any:
        sizes, scales = tuple(self.shape[2:]), rest[aligned:]
        if by_left_edge and spatial == 2:
            channels_last = self.is_contiguous(memory_format=channels_last_format)
            if has_plain_scales(output_size, self.shape[1], channels_last):
                scales = plain_scales(sizes, output_size, scales)
        elif name.endswith("_aa"):
            scales = smoothing_scales(sizes, output_size, scales)
        return mapped(self, _maps(make(*rest[:aligned]), self.dtype, sizes, tuple(output_size), scales))

    def backward(grad_output: Any, output_size: Ints, input_size: Ints, *rest: Any) -> Any:
        sizes, scales = tuple(input_size[2:]), rest[aligned:]
        if by_left_edge:
            scales = plain_scales(sizes, output_size, scales)
        maps = _maps(make(*rest[:aligned]), grad_output.dtype, sizes, tuple(output_size), scales)
        return spread(grad_output, maps, sizes)

    def sized(input: Any, output_size: Any, *rest: Any) -> Any:
        sizes, scales = _sizes_from(input, output_size, rest[-1], spatial)
        return getattr(ops, name)(input, sizes, *rest[:-1], *scales)

    composite(name, explicit=True)(forward)
    composite(f"{name}_backward", explicit=True)(backward)
    composite(f"{name}.vec")(sized)


def _sizes_from(input: Any, output_size: Any, scale_factors: Any, spatial: int) -> tuple[Ints, tuple[Any, ...]]:
    """(output sizes, scales per dimension) from either of the two; scales are None where sizes were given."""
    if output_size is not None:
        if scale_factors is not None:
            raise RuntimeError("Must specify exactly one of output_size and scale_factors")
        return tuple(output_size), (None,) * spatial
    if scale_factors is None:
        raise RuntimeError("Must specify exactly one of output_size and scale_factors")
    sizes = tuple(int(n * f) for n, f in zip(input.shape[2:], scale_factors, strict=False))
    return sizes, tuple(scale_factors)


def _nearest(exact: bool) -> Callable[[], MakeMap]:
    return lambda: lambda n, size, scale, real: nearest_map(n, size, scale, exact)


def _smooth(cubic: bool) -> Callable[[bool], MakeMap]:
    return lambda align_corners: lambda n, size, scale, real: smooth_map(cubic, n, size, align_corners, scale, real)


def _smoothing(kind: str) -> Callable[[bool], MakeMap]:
    return lambda align_corners: lambda n, size, scale, real: smoothing_map(kind, n, size, align_corners, scale, real)


for _spatial in (1, 2, 3):
    _declare(f"upsample_nearest{_spatial}d", _spatial, _nearest(False), False)
    _declare(f"_upsample_nearest_exact{_spatial}d", _spatial, _nearest(True), False)
for _name, _spatial in (("linear1d", 1), ("bilinear2d", 2), ("trilinear3d", 3)):
    _declare(f"upsample_{_name}", _spatial, _smooth(False), True)
_declare("upsample_bicubic2d", 2, _smooth(True), True)
for _name in ("bilinear", "bicubic", "lanczos"):
    _declare(f"_upsample_{_name}2d_aa", 2, _smoothing(_name), True)
