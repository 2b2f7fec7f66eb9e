"""Resampling written in other operators: every output element is a weighted sum of input elements found by index."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..api import _functions as ops
from ..checks.dtypes import require_same_dtype
from ..construct import from_data
from ..dispatch.registry import register_composite as composite

Ints = tuple[int, ...]


def _check(self: Any, output_size: Ints, spatial: int) -> None:
    output_size = tuple(output_size)
    if len(output_size) != spatial:
        raise RuntimeError(f"It is expected output_size equals to {spatial}, but got size {len(output_size)}")
    if self.dim() != spatial + 2:
        raise RuntimeError(f"It is expected input_size equals to {spatial + 2}, but got size {self.dim()}")
    if any(n <= 0 for n in (*self.shape[2:], *output_size)):
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input {_sizes(self.shape[2:])} output "
            f"{_sizes(output_size)}"
        )


def _sizes(sizes: Any) -> str:
    return (
        "(" + ", ".join(f"{letter}: {n}" for letter, n in zip(("D", "H", "W")[-len(sizes) :], sizes, strict=True)) + ")"
    )


def _ratio(n: int, size: int, align_corners: bool, scale: float | None) -> float:
    """Input steps per output step, rounded to float32 as PyTorch calculates it."""
    if align_corners:
        return float(np.float32(n - 1) / np.float32(size - 1)) if size > 1 else 0.0
    return float(np.float32(1 / scale)) if scale is not None and scale > 0 else float(np.float32(n) / np.float32(size))


def _index(self: Any, values: list[int]) -> Any:
    return from_data(values, dtypes.int64, self.device)


def _nearest(self: Any, output_size: Ints, scales: tuple[Any, ...], exact: bool) -> Any:
    spatial = len(scales)
    _check(self, output_size, spatial)
    result = self
    for i, (size, scale) in enumerate(zip(output_size, scales, strict=True)):
        n = self.shape[i + 2]
        ratio = np.float32(_ratio(n, size, False, scale))
        places = [
            min(math.floor(np.float32(j + 0.5) * ratio if exact else np.float32(j) * ratio), n - 1) for j in range(size)
        ]
        if places != list(range(n)):
            result = result.index_select(i + 2, _index(self, places))
    return result if result is not self else self.clone()


def _declare_nearest(name: str, spatial: int, exact: bool) -> None:
    composite(name)(lambda self, output_size, *scales: _nearest(self, tuple(output_size), scales, exact))


for _spatial in (1, 2, 3):
    _declare_nearest(f"upsample_nearest{_spatial}d", _spatial, False)
    _declare_nearest(f"_upsample_nearest_exact{_spatial}d", _spatial, True)


def _linear_places(
    n: int, size: int, align_corners: bool, scale: float | None
) -> tuple[list[int], list[int], list[float]]:
    """(left neighbour, right neighbour, weight of the right one) of every output position."""
    ratio = _ratio(n, size, align_corners, scale)
    left, right, weight = [], [], []
    for j in range(size):
        place = ratio * j if align_corners else max(ratio * (j + 0.5) - 0.5, 0.0)
        low = min(int(place), n - 1)
        left.append(low)
        right.append(min(low + 1, n - 1))
        weight.append(min(max(place - low, 0.0), 1.0))
    return left, right, weight


def _along(self: Any, weights: list[float], dim: int) -> Any:
    d = self.dtype if self.dtype.category >= 2 else dtypes.float32
    return (
        from_data(weights, dtypes.float64, self.device)
        .to(d)
        .reshape([-1 if i == dim else 1 for i in range(self.dim())])
    )


def _linear(self: Any, output_size: Ints, align_corners: bool, scales: tuple[Any, ...]) -> Any:
    spatial = len(scales)
    _check(self, output_size, spatial)
    result = self
    for i, (size, scale) in reversed(list(enumerate(zip(output_size, scales, strict=True)))):
        dim, n = i + 2, self.shape[i + 2]
        if n == size and (scale is None or scale == 1 or align_corners):
            continue
        left, right, weight = _linear_places(n, size, align_corners, scale)
        share = _along(self, weight, dim)
        below, above = result.index_select(dim, _index(self, left)), result.index_select(dim, _index(self, right))
        result = below * (1 - share) + above * share
    return result if result is not self else self.clone()


composite("upsample_linear1d")(
    lambda self, output_size, align_corners, *scales: _linear(self, tuple(output_size), align_corners, scales)
)
composite("upsample_bilinear2d")(
    lambda self, output_size, align_corners, *scales: _linear(self, tuple(output_size), align_corners, scales)
)
composite("upsample_trilinear3d")(
    lambda self, output_size, align_corners, *scales: _linear(self, tuple(output_size), align_corners, scales)
)


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


def _declare_vec(name: str, spatial: int, aligned: bool) -> None:
    def by_alignment(input: Any, output_size: Any, align_corners: bool, scale_factors: Any) -> Any:
        sizes, scales = _sizes_from(input, output_size, scale_factors, spatial)
        return getattr(ops, name)(input, sizes, align_corners, *scales)

    def plain(input: Any, output_size: Any, scale_factors: Any) -> Any:
        sizes, scales = _sizes_from(input, output_size, scale_factors, spatial)
        return getattr(ops, name)(input, sizes, *scales)

    composite(f"{name}.vec")(by_alignment if aligned else plain)


for _spatial in (1, 2, 3):
    _declare_vec(f"upsample_nearest{_spatial}d", _spatial, False)
    _declare_vec(f"_upsample_nearest_exact{_spatial}d", _spatial, False)
for _name, _spatial in (("linear1d", 1), ("bilinear2d", 2), ("trilinear3d", 3), ("bicubic2d", 2)):
    _declare_vec(f"upsample_{_name}", _spatial, True)

_A = -0.75  # the cubic convolution coefficient PyTorch uses (Keys 1981)


def _cubic_weight(t: float) -> float:
    t = abs(t)
    if t <= 1:
        return ((_A + 2) * t - (_A + 3)) * t * t + 1
    return (((t - 5) * t + 8) * t - 4) * _A if t < 2 else 0.0


@composite("upsample_bicubic2d")
def upsample_bicubic2d(self: Any, output_size: Ints, align_corners: bool, scales_h: Any, scales_w: Any) -> Any:
    """self (N, C, H, W) -> (N, C, *output_size)."""
    _check(self, tuple(output_size), 2)
    result = self
    for i, (size, scale) in reversed(list(enumerate(zip(output_size, (scales_h, scales_w), strict=True)))):
        dim, n = i + 2, self.shape[i + 2]
        ratio = _ratio(n, size, align_corners, scale)
        places = [ratio * j if align_corners else ratio * (j + 0.5) - 0.5 for j in range(size)]
        total: Any = None
        for tap in range(-1, 3):
            index = [min(max(math.floor(p) + tap, 0), n - 1) for p in places]
            weight = _along(self, [_cubic_weight(p - math.floor(p) - tap) for p in places], dim)
            term = result.index_select(dim, _index(self, index)) * weight
            total = term if total is None else total + term
        result = total
    return result


# Grids


@composite("affine_grid_generator")
def affine_grid_generator(theta: Any, size: Ints, align_corners: bool) -> Any:
    """theta (N, D, D + 1), size (N, C, *S) -> (N, *S, D), for D = 2 or 3."""
    spatial = len(size) - 2
    bases: list[Any] = []
    for i, n in enumerate(size[2:]):
        line = (
            ops.linspace(-1, 1, n, dtype=theta.dtype, device=theta.device)
            if n > 1
            else ops.zeros((n,), dtype=theta.dtype, device=theta.device)
        )
        if not align_corners:
            line = line * (n - 1) / n
        bases.insert(0, line.reshape([-1 if j == i else 1 for j in range(spatial)]).expand(size[2:]))
    bases.append(ops.ones_like(bases[0]))
    grid = ops.stack(bases, -1).reshape((1, -1, spatial + 1)).expand((size[0], -1, -1))
    return grid.bmm(theta.transpose(1, 2)).reshape((size[0], *size[2:], spatial))


def _unnormalized(coordinate: Any, n: int, align_corners: bool) -> Any:
    return (coordinate + 1) / 2 * (n - 1) if align_corners else ((coordinate + 1) * n - 1) / 2


def _folded(coordinate: Any, low: float, high: float) -> Any:
    """Reflected at both ends until it lies between them (low and high in half steps)."""
    if low == high:
        return coordinate * 0
    bottom, span = low / 2, (high - low) / 2
    distance = (coordinate - bottom).abs()
    turns = (distance / span).floor()
    rest = distance - turns * span
    return ops.where(turns.remainder(2) == 0, rest + bottom, span - rest + bottom)


def _placed(coordinate: Any, n: int, padding_mode: int, align_corners: bool) -> Any:
    """Positions in the input after border or reflection padding."""
    if padding_mode == 1:
        return coordinate.clamp(0, n - 1)
    if padding_mode == 2:
        folded = _folded(coordinate, 0, 2 * (n - 1)) if align_corners else _folded(coordinate, -1, 2 * n - 1)
        return folded.clamp(0, n - 1)
    return coordinate


def _taken(flat: Any, places: list[Any], sizes: Ints, spatial_shape: Ints) -> Any:
    """Input elements at integer positions, 0 outside: (n, c, *grid)."""
    inside: Any = None
    index: Any = None
    for place, n in zip(places, sizes, strict=True):
        ok = (place >= 0) & (place <= n - 1)
        inside = ok if inside is None else inside & ok
        whole = place.clamp(0, n - 1).nan_to_num(0).to(dtypes.int64)
        index = whole if index is None else index * n + whole
    batch, channels = flat.shape[:2]
    spread = index.reshape((batch, 1, -1)).expand((batch, channels, math.prod(spatial_shape)))
    values = flat.gather(2, spread).reshape((batch, channels, *spatial_shape))
    return values * inside.unsqueeze(1).to(flat.dtype)


def _sampled(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    sizes = tuple(input.shape[2:])
    spatial = len(sizes)
    flat = input.reshape((*input.shape[:2], math.prod(sizes)))
    shape = tuple(grid.shape[1:-1])
    raw = [_unnormalized(grid.select(-1, spatial - 1 - i), sizes[i], align_corners) for i in range(spatial)]
    if interpolation_mode == 2:
        return _bicubic_sampled(flat, raw, sizes, shape, padding_mode, align_corners)
    places = [_placed(c, n, padding_mode, align_corners) for c, n in zip(raw, sizes, strict=True)]
    if interpolation_mode == 1:
        return _taken(flat, [p.round().detach() for p in places], sizes, shape) + _no_gradient(places)
    corners = [p.floor().detach() for p in places]
    total = None
    for corner in range(2**spatial):
        steps = [corner >> i & 1 for i in range(spatial)]
        weight: Any = None
        for p, base, step in zip(places, corners, steps, strict=True):
            share = p - base if step else 1 - (p - base)
            weight = share if weight is None else weight * share
        term = _taken(flat, [b + s for b, s in zip(corners, steps, strict=True)], sizes, shape) * weight.unsqueeze(1)
        total = term if total is None else total + term
    return total


def _no_gradient(places: list[Any]) -> Any:
    """Zero that depends on the grid: nearest sampling has the gradient 0 there, not none."""
    return (places[0] * 0).nan_to_num(0).unsqueeze(1)


def _bicubic_sampled(
    flat: Any, raw: list[Any], sizes: Ints, shape: Ints, padding_mode: int, align_corners: bool
) -> Any:
    bases = [c.floor().detach() for c in raw]
    offsets = [c - b for c, b in zip(raw, bases, strict=True)]
    total = None
    for i in range(-1, 3):
        for j in range(-1, 3):
            places = [
                _placed(bases[0] + i, sizes[0], padding_mode, align_corners),
                _placed(bases[1] + j, sizes[1], padding_mode, align_corners),
            ]
            weight = _cubic_tensor(offsets[0] - i, i) * _cubic_tensor(offsets[1] - j, j)
            term = _taken(flat, [p.round().detach() for p in places], sizes, shape) * weight.unsqueeze(1)
            total = term if total is None else total + term
    return total


def _cubic_tensor(t: Any, tap: int) -> Any:
    """Cubic weights of one tap; which piece of the kernel applies depends on the tap alone."""
    t = t.abs()
    if tap in (0, 1):
        return ((_A + 2) * t - (_A + 3)) * t * t + 1
    return (((t - 5) * t + 8) * t - 4) * _A


@composite("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """input (N, C, *S), grid (N, *T, D) -> (N, C, *T), for D = 2 or 3."""
    if input.dim() not in (4, 5) or input.dim() != grid.dim():
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with "
            f"sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != input.dim() - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.dim() - 2} in last dimension, but got grid with "
            f"sizes {list(grid.shape)}"
        )
    if input.dim() == 5 and interpolation_mode == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    require_same_dtype(input, grid)
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)
