"""Derivatives of operators that put elements elsewhere, and of adaptive averages: each one's adjoint."""

from __future__ import annotations

import math
from typing import Any

from mt_core.api import _functions as ops
from mt_core.decomp.pool_resample import affine_grid_gradient
from mt_core.dispatch.registry import find_overload

from ..rules import derivative, forward_rule, real_only, zeros

derivative("pixel_shuffle", self=lambda grad, upscale_factor: ops.pixel_unshuffle(grad, upscale_factor))
derivative("pixel_unshuffle", self=lambda grad, downscale_factor: ops.pixel_shuffle(grad, downscale_factor))
derivative(
    "channel_shuffle", self=lambda grad, self_spec, groups: ops.channel_shuffle(grad, self_spec.shape[1] // groups)
)
derivative(
    "affine_grid_generator",
    theta=lambda grad, theta_spec, size, align_corners: affine_grid_gradient(grad, theta_spec, size, align_corners),
)
real_only("affine_grid_generator")


def _unpooled(spatial: int) -> Any:
    def gradient(grad: Any, self_spec: Any, indices: Any) -> Any:
        shape = tuple(self_spec.shape)
        lead = shape[:-spatial]
        flat = grad.reshape((*lead, math.prod(grad.shape[-spatial:])))
        return flat.gather(-1, indices.reshape((*lead, math.prod(shape[-spatial:])))).reshape(shape)

    return gradient


def _averaged(spatial: int) -> None:
    forward = find_overload(f"_adaptive_avg_pool{spatial}d")
    backward = find_overload(f"_adaptive_avg_pool{spatial}d_backward")
    derivative(forward.name, self=lambda grad, self: backward.call(grad, self))
    derivative(
        backward.name,
        grad_output=lambda grad, grad_output_spec: forward.call(grad, tuple(grad_output_spec.shape[-spatial:])),
        self=zeros,
    )


for _spatial in (2, 3):
    derivative(f"max_unpool{_spatial}d", self=_unpooled(_spatial))
    _averaged(_spatial)

forward_rule(
    "linear",
    "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "channel_shuffle", "pixel_shuffle", "pixel_unshuffle",
)  # fmt: skip
