"""Layouts of Ascend's own. Tensors of the device ``npu`` have none: they all lie in the plain ones."""

from __future__ import annotations

import enum
from typing import Any

import mindtorch as torch

__all__ = ["Format", "get_npu_format", "npu_format_cast", "npu_format_cast_"]


class Format(enum.IntEnum):
    """Numbers of CANN's layouts (``aclFormat`` in acl_base.h, CANN 8)."""

    UNDEFINED = -1
    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3
    FRACTAL_Z = 4
    NC1HWC0_C04 = 12
    HWCN = 16
    NDHWC = 27
    FRACTAL_NZ = 29
    NCDHW = 30
    NDC1HWC0 = 32
    FRACTAL_Z_3D = 33


#: Layouts in which elements lie as the shape says.
_PLAIN = frozenset((Format.NCHW, Format.ND, Format.NCDHW))


def get_npu_format(tensor: Any) -> Format:
    """The layout of a tensor: `Format.ND`."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"get_npu_format() takes a tensor, not {type(tensor).__name__}")
    return Format.ND


def npu_format_cast(tensor: Any, acl_format: int) -> Any:
    """The tensor, which is in any plain layout already.

    Raises
    ------
    NotImplementedError
        For layouts that tensors do not have here (`Format.FRACTAL_NZ` and others).
    """
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"npu_format_cast() takes a tensor, not {type(tensor).__name__}")
    if acl_format not in _PLAIN:
        known = next((f"{known.name} ({known.value})" for known in Format if known == acl_format), str(acl_format))
        raise NotImplementedError(
            f"torch_npu.npu_format_cast: tensors are not held in the layout {known}, but in ND, NCHW and NCDHW alone"
        )
    return tensor


#: In place there is as little to change.
npu_format_cast_ = npu_format_cast
