"""AscendC kernels of your own, as functions on tensors and as operators.

`KernelLauncher` launches a kernel of a shared object, `BinaryKernel` one of a binary, `ascendc_load` builds sources,
`ascendc_op` makes an operator. Numbers are given in C types: ``u32(8)``, ``f32(0.5)``, or declared as ``argtypes``.
"""

from mt_core.plugins.kernel_arguments import (
    bf16,
    boolean,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    struct,
    tensor,
    u8,
    u16,
    u32,
    u64,
)

from .binary import BinaryKernel
from .building import AscendcLibrary, ascendc_load
from .launcher import KernelLauncher
from .operators import alloc_like, ascendc_op
from .places import tensor_ptr

__all__ = [
    "AscendcLibrary", "BinaryKernel", "KernelLauncher", "alloc_like", "ascendc_load", "ascendc_op", "bf16", "boolean",
    "f16", "f32", "f64", "i8", "i16", "i32", "i64", "struct", "tensor", "tensor_ptr", "u8", "u16", "u32", "u64",
]  # fmt: skip
