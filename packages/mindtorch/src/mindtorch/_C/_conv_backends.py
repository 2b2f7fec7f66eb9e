"""``torch._C._ConvBackend``: which implementation carries a convolution out."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from mt_core.tensor import Tensor

__all__ = ["_ConvBackend", "_select_conv_backend"]


class _ConvBackend(Enum):
    """PyTorch's implementations of convolution, in its order; mindtorch's own are `Empty` and `Overrideable`."""

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
    """`Empty` where the input has no samples or no channels, else `Overrideable`: the kernel of the tensors' device."""
    nothing = 0 in tuple(input.shape[:2])
    return _ConvBackend.Empty if nothing else _ConvBackend.Overrideable
