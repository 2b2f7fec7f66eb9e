"""Sampling along grids, written in other operators."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..checks.dtypes import require_same_dtype
from ..dispatch.registry import register_composite as composite

Ints = tuple[int, ...]

_A = -0.75  # the cubic convolution coefficient PyTorch uses (Keys 1981)


@composite("affine_grid_generator", explicit=True)
def affine_grid_generator(theta: Any, size: Ints, align_corners: bool) -> Any:
    """theta (N, D, D + 1), size (N, C, *S) -> (N, *S, D), for D = 2 or 3."""
    points = regular_grid(theta, size, align_corners)
    return points.bmm(theta.transpose(1, 2)).reshape((size[0], *size[2:], len(size) - 2))


def affine_grid_gradient(grad: Any, theta: Any, size: Ints, align_corners: bool) -> Any:
    """Gradient of theta (N, D, D + 1) by that of its grid, (N, *S, D)."""
    points = regular_grid(theta, size, align_corners)
    return points.transpose(1, 2).bmm(grad.reshape((size[0], -1, len(size) - 2))).transpose(1, 2)


def regular_grid(like: Any, size: Ints, align_corners: bool) -> Any:
    """Positions in [-1, 1] of an image's elements with a 1 at the end, (N, prod(S), D + 1), for size (N, C, *S)."""
    spatial = len(size) - 2
    bases: list[Any] = []
    for i, n in enumerate(size[2:]):
        line = (
            ops.linspace(-1, 1, n, dtype=like.dtype, device=like.device)
            if n > 1
            else ops.zeros((n,), dtype=like.dtype, device=like.device)
        )
        if not align_corners:
            line = line * (n - 1) / n
        bases.insert(0, line.reshape([-1 if j == i else 1 for j in range(spatial)]).expand(size[2:]))
    bases.append(ops.ones_like(bases[0]))
    return ops.stack(bases, -1).reshape((1, -1, spatial + 1)).expand((size[0], -1, -1))


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
    spread = index.reshape((batch, 1, math.prod(spatial_shape))).expand((batch, channels, math.prod(spatial_shape)))
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


@composite("grid_sampler")
def grid_sampler(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """input (N, C, *S), grid (N, *T, D) -> (N, C, *T), for D = 2 or 3."""
    _check_grid(input, grid, interpolation_mode)
    sampler = ops.grid_sampler_2d if input.dim() == 4 else ops.grid_sampler_3d
    return sampler(input, grid, interpolation_mode, padding_mode, align_corners)


@composite("grid_sampler_2d", "grid_sampler_3d")
def grid_sampler_2d(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """`grid_sampler` of one number of dimensions."""
    _check_grid(input, grid, interpolation_mode)
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)


def _check_grid(input: Any, grid: Any, interpolation_mode: int) -> None:
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
    for i, n in enumerate(input.shape[2:], 2):
        if n == 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{list(input.shape)} with dimension {i} being empty"
            )
    if input.dim() not in (4, 5) or input.dim() != grid.dim():
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with "
            f"sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.dim() == 5 and interpolation_mode == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    require_same_dtype(input, grid)
