"""Convolutions: declarations."""

from __future__ import annotations

from typing import Any

from ..dtypes import int64
from ._checks import BOOL, COMPLEX, COMPLEX_HALF, FLOATS, INTEGERS, NUMBERS, Supported
from ._declare import Family

family = Family("conv")


def _convolved(args: tuple[Any, ...]) -> str | None:
    """What PyTorch calls the kernel; None where it takes the input's dtype.

    Integers of all sizes are convolved, but neither transposed nor dilated; of complex numbers the parts are.
    """
    weight, dilation, transposed = args[1], args[5], args[6]
    volumes = weight.dim() == 5
    if args[0]._dtype in COMPLEX_HALF:
        return None
    if transposed:
        return f"slow_conv_transpose{3 if volumes else 2}d_out_cpu"
    if any(d != 1 for d in dilation):
        return "slow_conv_dilated<>"
    if args[0]._dtype in INTEGERS:
        return None
    return "compute_columns3d" if volumes else "slow_conv2d_cpu"


family.plain(
    "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool "
    "transposed, int[] output_padding, int groups) -> Tensor", variants="function",
    dtypes=Supported(_convolved, FLOATS | COMPLEX | {int64}, idle="empty"),
    doc=(
        "Cross-correlation of (n, c, *) with weights (o, c / groups, *), or its adjoint with weights (c, o / "
        "groups, *)."
    ),
)  # fmt: skip
family.composite(
    "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, int[]? bias_sizes, int[] stride, int[] padding, int[] "
    "dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)", variants="",
)  # fmt: skip
family.composite(
    "_convolution_double_backward(Tensor? ggI, Tensor? ggW, Tensor? ggb, Tensor gO, Tensor weight, Tensor self, int[] stride, int[] "
    "padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    variants="",
)  # fmt: skip
for _n in (1, 2, 3):
    family.composite(
        f"conv{_n}d(Tensor input, Tensor weight, Tensor? bias=None, int[{_n}] stride=1, int[{_n}] padding=0, "
        f"int[{_n}] dilation=1, int groups=1) -> Tensor",
        variants="function",
        doc=f"{_n}-dimensional cross-correlation of (n, c, *) or (c, *).",
    )
    family.composite(
        f"conv{_n}d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[{_n}] stride=1, str "
        f'padding="valid", int[{_n}] dilation=1, int groups=1) -> Tensor',
        variants="function",
    )
    _input = "" if _n == 1 else ".input"
    family.composite(
        f"conv_transpose{_n}d{_input}(Tensor input, Tensor weight, Tensor? bias=None, int[{_n}] stride=1, int[{_n}] "
        f"padding=0, int[{_n}] output_padding=0, int groups=1, int[{_n}] dilation=1) -> Tensor",
        variants="function",
        doc=f"The adjoint of the {_n}-dimensional cross-correlation.",
    )
family.composite(
    "conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
    dtypes=Supported("addmm_impl_cpu_", NUMBERS),
    variants="function",
    doc="1-d convolution of (time, batch, channel) input; `pad` zeros on both ends of time.",
)
family.plain(
    "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
    dtypes=Supported("im2col_out_cpu", FLOATS | COMPLEX | BOOL),
    variants="function",
    namespace="torch._C._nn",
    doc="Sliding blocks of (n, c, h, w) as columns: (n, c * kh * kw, blocks).",
)
family.plain(
    "col2im(Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> "
    "Tensor",
    dtypes=Supported("col2im_out_cpu", FLOATS | COMPLEX | BOOL),
    variants="function",
    namespace="torch._C._nn",
    doc="Columns of blocks added up where they overlap: the adjoint of `im2col`.",
)
