"""Resampling of images: resizing, sampling along a grid, shuffling pixels between channels and space."""

import warnings
from typing import Any

import mt_core as mt
from mt_core import Tensor

__all__ = ["affine_grid", "grid_sample", "interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Former name of `interpolate`."""
    _warn_of_former_name("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Former spelling of `interpolate` with ``mode="nearest"``."""
    _warn_of_former_name("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Former spelling of `interpolate` with ``mode="bilinear", align_corners=True``."""
    _warn_of_former_name("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _warn_of_former_name(name: str) -> None:
    warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)


#: (dimensions of the input, mode) -> name of the operator.
_OPERATORS = {
    (3, "nearest"): "upsample_nearest1d",
    (4, "nearest"): "upsample_nearest2d",
    (5, "nearest"): "upsample_nearest3d",
    (3, "nearest-exact"): "_upsample_nearest_exact1d",
    (4, "nearest-exact"): "_upsample_nearest_exact2d",
    (5, "nearest-exact"): "_upsample_nearest_exact3d",
    (3, "linear"): "upsample_linear1d",
    (4, "bilinear"): "upsample_bilinear2d",
    (5, "trilinear"): "upsample_trilinear3d",
    (4, "bicubic"): "upsample_bicubic2d",
}

_ANTIALIASED = {
    (4, "bilinear"): "_upsample_bilinear2d_aa",
    (4, "bicubic"): "_upsample_bicubic2d_aa",
    (4, "lanczos"): "_upsample_lanczos2d_aa",
}

_ALIGNABLE_MODES = ("linear", "bilinear", "bicubic", "trilinear", "lanczos")


def interpolate(
    input: Tensor,
    size: int | tuple[int, ...] | None = None,
    scale_factor: float | tuple[float, ...] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """The input resized to `size`, or by `scale_factor`.

    Parameters
    ----------
    input
        Shape (N, C, L), (N, C, H, W) or (N, C, D, H, W).
    size
        Spatial size of the result: one number or one for each dimension.
    scale_factor
        What to multiply the spatial size by, in place of `size`.
    mode
        ``"nearest"``, ``"nearest-exact"`` or ``"area"``; for 3-d inputs ``"linear"``; for 4-d ones ``"bilinear"`` or
        ``"bicubic"``; for 5-d ones ``"trilinear"``.
    align_corners
        Whether the centres, rather than the outer edges, of the corner elements are kept in place.
    recompute_scale_factor
        Whether to compute the scale from the rounded sizes rather than use it as given.
    antialias
        Whether to smooth when shrinking; ``"bilinear"`` and ``"bicubic"`` only.

    Returns
    -------
    Tensor
        Shape (N, C, *size).
    """
    align_corners = _checked_align_corners(mode, align_corners)
    count = input.dim() - 2
    sizes, scales = _sizes_and_scales(input, size, scale_factor, count)
    if recompute_scale_factor:
        if size is not None:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        sizes, scales = _rounded_sizes(input, scales, count), None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    if mode == "area":
        return _area(input, sizes if sizes is not None else _rounded_sizes(input, scales, count))
    name = (_ANTIALIASED if antialias else _OPERATORS).get((input.dim(), mode))
    if name is None:
        raise _unsupported_mode(input, mode)
    operator = getattr(mt, name, None)
    if operator is None:
        raise NotImplementedError(
            f"interpolate: mode={mode!r} with antialias={antialias} needs {name}, which is missing"
        )
    if align_corners is None:
        return operator(input, sizes, scales)
    return operator(input, sizes, align_corners, scales)


def _checked_align_corners(mode: str, align_corners: bool | None) -> bool | None:
    """`align_corners` as the operators of a mode take it: `None` for those that have none."""
    if mode in _ALIGNABLE_MODES:
        return bool(align_corners)
    if align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    return None


def _sizes_and_scales(
    input: Tensor, size: Any, scale_factor: Any, count: int
) -> tuple[list[int] | None, list[float] | None]:
    """The size or the scale asked for, one of the two, with an entry for each spatial dimension."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if not isinstance(size, (list, tuple)):
            return [size] * count, None
        if len(size) != count:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input with spatial "
                "dimensions "
                f"of {list(input.shape[2:])} and output size of {size}. Please provide input tensor in (N, C, d1, d2, "
                "...,dK) format and output size in (o1, o2, ...,oK) format."
            )
        return list(size), None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if not isinstance(scale_factor, (list, tuple)):
        return None, [scale_factor] * count
    if len(scale_factor) != count:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
            f"dimensions of {list(input.shape[2:])} and scale_factor of shape {scale_factor}. Please provide input "
            "tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format."
        )
    return None, list(scale_factor)


def _rounded_sizes(input: Tensor, scales: list[float], count: int) -> list[int]:
    return [int(float(input.size(dim + 2)) * scales[dim]) for dim in range(count)]


def _area(input: Tensor, sizes: list[int]) -> Tensor:
    pools = {3: "adaptive_avg_pool1d", 4: "adaptive_avg_pool2d", 5: "adaptive_avg_pool3d"}
    if input.dim() not in pools:
        raise _unsupported_mode(input, "area")
    return getattr(mt, pools[input.dim()])(input, sizes)


def _unsupported_mode(input: Tensor, mode: str) -> NotImplementedError:
    needed = {"linear": 3, "bilinear": 4, "trilinear": 5}.get(mode)
    if input.dim() in (3, 4, 5) and needed is not None:
        return NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {needed}D input")
    modes = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
    return NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: {modes} "
        f"(got {mode})"
    )


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The input sampled at the points of a grid.

    Parameters
    ----------
    input
        Shape (N, C, H, W) or (N, C, D, H, W).
    grid
        Points (x, y) or (x, y, z), where -1 and 1 are the input's edges. Shape (N, h, w, 2) or (N, d, h, w, 3).
    mode
        ``"bilinear"``, ``"nearest"`` or, for 4-d inputs, ``"bicubic"``.
    padding_mode
        What lies outside: ``"zeros"``, ``"border"`` or ``"reflection"``.
    align_corners
        Whether -1 and 1 are the centres, rather than the outer edges, of the corner elements.

    Returns
    -------
    Tensor
        Shape (N, C, h, w) or (N, C, d, h, w).
    """
    if mode not in GRID_SAMPLE_INTERPOLATION_MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in GRID_SAMPLE_PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        _warn_of_align_corners()
        align_corners = False
    return mt.grid_sampler(
        input, grid, GRID_SAMPLE_INTERPOLATION_MODES[mode], GRID_SAMPLE_PADDING_MODES[padding_mode], align_corners
    )


def _warn_of_align_corners() -> None:
    warnings.warn(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
        "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
        stacklevel=4,
    )


def affine_grid(theta: Tensor, size: list[int] | tuple[int, ...], align_corners: bool | None = None) -> Tensor:
    """The points that affine maps send a regular grid to, for `grid_sample`.

    Parameters
    ----------
    theta
        Matrices, shape (N, 2, 3) or (N, 3, 4).
    size
        Size (N, C, H, W) or (N, C, D, H, W) of the image to be sampled.
    align_corners
        As in `grid_sample`.

    Returns
    -------
    Tensor
        Shape (N, H, W, 2) or (N, D, H, W, 3).
    """
    if align_corners is None:
        _warn_of_align_corners()
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    _check_theta(theta, size, align_corners)
    return mt.affine_grid_generator(theta, size, align_corners)


def _check_theta(theta: Tensor, size: list[int] | tuple[int, ...], align_corners: bool) -> None:
    if len(size) == 4:
        shape, kind = (2, 3), "2D"
    elif len(size) == 5:
        shape, kind = (3, 4), "3D"
    else:
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{size}."
        )
    if theta.dim() != 3 or theta.shape[-2:] != shape:
        rows, columns = shape
        raise ValueError(
            f"Expected a batch of {kind} affine matrices of shape Nx{rows}x{columns} for size {size}. Got "
            f"{theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if align_corners and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This "
            "is not an intended use case of affine_grid. See the documentation of affine_grid for details.",
            stacklevel=3,
        )
