"""Derivatives of resizing, which is linear: the adjoint, whose derivative is the operator again."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.dispatch.registry import find_overload

from ..rules import derivative, forward_rule


def _adjoint(name: str, grad: Any, output_size: Any, self_spec: Any, *rest: Any) -> Any:
    return find_overload(f"{name}_backward").call(grad, output_size, tuple(self_spec.shape), *rest)


def _plain_line(name: str) -> None:
    derivative(name, self=lambda grad, self_spec, output_size, scales: _adjoint(
        name, grad, output_size, self_spec, scales
    ))  # fmt: skip
    derivative(f"{name}_backward", grad_output=lambda grad, output_size, scales: getattr(ops, name)(
        grad, output_size, scales
    ))  # fmt: skip


def _plain_plane(name: str) -> None:
    derivative(name, self=lambda grad, self_spec, output_size, scales_h, scales_w: _adjoint(
        name, grad, output_size, self_spec, scales_h, scales_w
    ))  # fmt: skip
    derivative(f"{name}_backward", grad_output=lambda grad, output_size, scales_h, scales_w: getattr(ops, name)(
        grad, output_size, scales_h, scales_w
    ))  # fmt: skip


def _plain_volume(name: str) -> None:
    derivative(name, self=lambda grad, self_spec, output_size, scales_d, scales_h, scales_w: _adjoint(
        name, grad, output_size, self_spec, scales_d, scales_h, scales_w
    ))  # fmt: skip
    derivative(f"{name}_backward", grad_output=lambda grad, output_size, scales_d, scales_h, scales_w: getattr(
        ops, name
    )(grad, output_size, scales_d, scales_h, scales_w))  # fmt: skip


def _aligned_plane(name: str) -> None:
    derivative(name, self=lambda grad, self_spec, output_size, align_corners, scales_h, scales_w: _adjoint(
        name, grad, output_size, self_spec, align_corners, scales_h, scales_w
    ))  # fmt: skip
    derivative(f"{name}_backward", grad_output=lambda grad, output_size, align_corners, scales_h, scales_w: getattr(
        ops, name
    )(grad, output_size, align_corners, scales_h, scales_w))  # fmt: skip


for _kind in ("upsample_nearest", "_upsample_nearest_exact"):
    _plain_line(f"{_kind}1d")
    _plain_plane(f"{_kind}2d")
    _plain_volume(f"{_kind}3d")
for _name in ("upsample_bilinear2d", "upsample_bicubic2d"):
    _aligned_plane(_name)
for _name in ("bilinear", "bicubic", "lanczos"):
    _aligned_plane(f"_upsample_{_name}2d_aa")
derivative(
    "upsample_linear1d",
    self=lambda grad, self_spec, output_size, align_corners, scales: _adjoint(
        "upsample_linear1d", grad, output_size, self_spec, align_corners, scales
    ),
)
derivative(
    "upsample_linear1d_backward",
    grad_output=lambda grad, output_size, align_corners, scales: ops.upsample_linear1d(
        grad, output_size, align_corners, scales
    ),
)
derivative(
    "upsample_trilinear3d",
    self=lambda grad, self_spec, output_size, align_corners, scales_d, scales_h, scales_w: _adjoint(
        "upsample_trilinear3d", grad, output_size, self_spec, align_corners, scales_d, scales_h, scales_w
    ),
)
derivative(
    "upsample_trilinear3d_backward",
    grad_output=lambda grad, output_size, align_corners, scales_d, scales_h, scales_w: ops.upsample_trilinear3d(
        grad, output_size, align_corners, scales_d, scales_h, scales_w
    ),
)

forward_rule(
    "linear",
    "_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa", "_upsample_lanczos2d_aa", "_upsample_nearest_exact1d",
    "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "upsample_bicubic2d", "upsample_bilinear2d",
    "upsample_linear1d", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d",
    "upsample_trilinear3d",
)  # fmt: skip
