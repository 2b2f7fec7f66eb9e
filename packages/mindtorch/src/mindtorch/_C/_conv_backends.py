"""``torch._C._ConvBackend``: which implementation carries a convolution out."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from mt_core.tensor import Tensor

__all__ = ["_ConvBackend", "_select_conv_backend"]


class _ConvBackend(Enum):
    """PyTorch's implementations of convolution, in its order; mindtorch names none of a vendor's."""

    CudaDepthwise2d = 0
    CudaDepthwise3d = 1
    Cudnn = 2
    CudnnTranspose = 3
    Empty = 4
    Miopen = 5
    MiopenDepthwise = 6
    MiopenTranspose = 7
    Mkldnn = 8
    MkldnnEmpty = 9
    NnpackSpatial = 10
    Overrideable = 11
    Slow2d = 12
    Slow3d = 13
    SlowDilated2d = 14
    SlowDilated3d = 15
    SlowTranspose2d = 16
    SlowTranspose3d = 17
    Winograd3x3Depthwise = 18
    Xnnpack2d = 19
    Mps = 20
    MpsTranspose = 21


def _select_conv_backend(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    bias_sizes: Sequence[int] | None = None,
) -> _ConvBackend:
    """What PyTorch without a vendor's library chooses: there is none here.

    `Empty` where the input has no samples or no channels; on the CPU, the plain kernel of the kind of convolution, in
    which one dimension counts as two; `Overrideable` on other devices, whose backends bring kernels of their own.
    """
    if 0 in tuple(input.shape[:2]):
        return _ConvBackend.Empty
    if input.device.type != "cpu":
        return _ConvBackend.Overrideable
    spatial = max(input.dim() - 2, 2)
    kind = "Transpose" if transposed else "Dilated" if any(step != 1 for step in dilation) else ""
    return _ConvBackend[f"Slow{kind}{spatial}d"]
