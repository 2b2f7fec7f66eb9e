"""Kernels of the device target CPU, by functions that MindSpore has no others for there."""

from __future__ import annotations

from typing import Any

import mindspore
from mindspore import mint, ops

from ..registry import Table
from .common import ANY, COMPLEX, FLOATS, _axes, _cast, _copied, operand

__all__ = ["TABLE"]

TABLE = Table()
kernel = TABLE.kernel


@kernel("amax", takes="?BbhilfdFD")
def amax(self: Any, dim: Any, keepdim: bool) -> Any:
    axes = _axes(self, dim)
    return ops.amax(self, axes, keepdim) if axes else _copied(self)


@kernel("amin", takes="?BbhilfdFD")
def amin(self: Any, dim: Any, keepdim: bool) -> Any:
    axes = _axes(self, dim)
    return ops.amin(self, axes, keepdim) if axes else _copied(self)
