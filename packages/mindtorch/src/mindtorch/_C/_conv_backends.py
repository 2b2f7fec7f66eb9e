"""``torch._C._ConvBackend``: which implementation carries a convolution out."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from mt_core.tensor import Tensor

__all__ = ["_ConvBackend", "_select_conv_backend"]

#: PyTorch's names, in its order.
_NAMES = (
    "CudaDepthwise2d CudaDepthwise3d Cudnn CudnnTranspose Empty Miopen MiopenDepthwise MiopenTranspose Mkldnn "
    "MkldnnEmpty NnpackSpatial Overrideable Slow2d Slow3d SlowDilated2d SlowDilated3d SlowTranspose2d SlowTranspose3d "
    "Winograd3x3Depthwise Xnnpack2d Mps MpsTranspose"
)

_ConvBackend = Enum("_ConvBackend", {name: i for i, name in enumerate(_NAMES.split())})
_ConvBackend.__doc__ = """PyTorch's implementations of convolution; mindtorch's own are `Empty` and `Overrideable`."""


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
